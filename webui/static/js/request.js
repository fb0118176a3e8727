// Waits until the agent has started or refused the requested run; then shows the outcome.

import { fetchJson, errorText, poll } from "./poll.js";

const box = document.getElementById("request");
const connectionNote = document.getElementById("silent");
const startedAt = Date.now();

const showSlowNote = (isTaken) => { document.getElementById("slow").hidden = isTaken || Date.now() - startedAt < 8000; };

poll(async () => {
  const request = await fetchJson(box.dataset.url);
  connectionNote.hidden = true;
  const isTaken = request.state === "taken";
  if (request.state === "waiting" || (isTaken && request.kind === "run" && request.run === null)) {
    showSlowNote(isTaken);
    return 1000;
  }
  location.replace(location.pathname);
  return null;
  // A restart of the bench loses no request: keep polling.
}, (error) => {
  document.getElementById("slow").hidden = true;
  connectionNote.hidden = false;
  connectionNote.textContent = errorText(error);
});
