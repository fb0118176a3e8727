// Whether the drive of this page is still plugged in, and still the one that was shown.

import { ask, poll, told } from "./poll.js";
import { say, word } from "./words.js";

const note = document.getElementById("gone");
const { key, diskseq, guard } = note.dataset;

function wrong(drive) {
  if (drive === undefined) return say("This drive is not plugged in any more.");
  if (String(drive.diskseq ?? "") !== diskseq) return say("This drive was unplugged and plugged in again: load this page anew.");
  if (drive.guard.state !== guard) return say("This drive is %(state)s now: %(why)s. Load this page anew.", { state: word(drive.guard.state), why: drive.guard.why });
  return "";
}

function show(text) {
  note.hidden = text === "";
  if (note.textContent !== text) note.textContent = text;
}

poll(async () => {
  const { drives } = await ask("/api/v1/drives");
  show(wrong(drives.find((drive) => drive.identity.key === key)));
  return 1000;
}, (error) => show(say("What stands here may be out of date: %(why)s.", { why: told(error) })));
