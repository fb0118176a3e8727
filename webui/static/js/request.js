// Waits until the agent has started or refused the requested run; then shows the outcome.

import { ask, errorText, poll } from "./poll.js";

const box = document.getElementById("request");
const silent = document.getElementById("silent");
const startedAt = Date.now();

const slow = (taken) => { document.getElementById("slow").hidden = taken || Date.now() - startedAt < 8000; };

poll(async () => {
  const request = await ask(box.dataset.url);
  silent.hidden = true;
  const taken = request.state === "taken";
  if (request.state === "waiting" || (taken && request.kind === "run" && request.run === null)) {
    slow(taken);
    return 1000;
  }
  location.replace(location.pathname);
  return null;
  // A restart of the bench loses no request: keep polling.
}, (error) => {
  document.getElementById("slow").hidden = true;
  silent.hidden = false;
  silent.textContent = errorText(error);
});
