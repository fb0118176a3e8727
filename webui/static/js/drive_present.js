// Checks that the drive of this page is still plugged in and is still the same one.

import { fetchJson, errorText, poll } from "./poll.js";

const note = document.getElementById("drive-problem");
const { key, diskseq, guard } = note.dataset;

function findProblem(drive) {
  if (drive === undefined) return "This drive is not plugged in any more.";
  if (String(drive.diskseq ?? "") !== diskseq) return "This drive was unplugged and plugged in again: reload this page.";
  if (drive.guard.state !== guard) return `This drive is ${drive.guard.state} now: ${drive.guard.reason}. Reload this page.`;
  return "";
}

function show(text) {
  note.hidden = text === "";
  if (note.textContent !== text) note.textContent = text;
}

poll(async () => {
  const { drives } = await fetchJson("/api/v1/drives");
  show(findProblem(drives.find((drive) => drive.identity.drive_key === key)));
  return 1000;
}, (error) => show(`This page may be out of date: ${errorText(error)}.`));
