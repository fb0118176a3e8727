// Waits until the agent has begun the run that was asked for, or refused it; then shows that.

import { ask, poll, told } from "./poll.js";

const box = document.getElementById("request");
const silent = document.getElementById("silent");
const begun = Date.now();

const slow = (taken) => { document.getElementById("slow").hidden = taken || Date.now() - begun < 8000; };

poll(async () => {
  const asked = await ask(box.dataset.url);
  silent.hidden = true;
  const taken = asked.state === "taken";
  if (asked.state === "waiting" || (taken && asked.kind === "run" && asked.run === null)) {
    slow(taken);
    return 1000;
  }
  location.replace(location.pathname);
  return null;
  // A bench that restarts loses no request: it is asked again.
}, (error) => {
  document.getElementById("slow").hidden = true;
  silent.hidden = false;
  silent.textContent = told(error);
});
