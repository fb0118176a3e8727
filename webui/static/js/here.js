// Whether the drive of this page is still plugged in, and still the one that was shown.

import { ask, poll, told } from "./poll.js";
import { word } from "./words.js";

const note = document.getElementById("gone");
const { key, diskseq, guard } = note.dataset;

function wrong(drive) {
  if (drive === undefined) return "This drive is not plugged in any more.";
  if (String(drive.diskseq ?? "") !== diskseq) return "This drive was unplugged and plugged in again: load this page anew.";
  if (drive.guard.state !== guard) return `This drive is ${word(drive.guard.state)} now: ${drive.guard.why}. Load this page anew.`;
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
}, (error) => show(`What stands here may be out of date: ${told(error)}.`));
