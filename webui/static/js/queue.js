// A queue while the agent runs it: updates the state of each entry.

import { fetchJson, fetchPage, errorText, poll } from "./poll.js";
import { timeLeft } from "./words.js";

const box = document.getElementById("queue");
// The text and the tag of each state, as the server writes them.
const STATES = JSON.parse(box.dataset.states);

const tag = (element, state) => {
  const [text, look] = STATES[state];
  element.textContent = text;
  element.className = `tag ${look}`;
};

function showEntry(entry) {
  const row = box.querySelector(`[data-position="${entry.position}"]`);
  const part = (name) => row.querySelector(`[data-part="${name}"]`);
  tag(part("state"), entry.state);
  part("reason").textContent = entry.reason ?? "";
  if (entry.run !== null) {
    const link = part("run");
    link.hidden = false;
    link.href = `/runs/${entry.run}`;
    link.textContent = `Run ${entry.run}`;
  }
  if (entry.state !== "waiting" && part("out")) part("out").hidden = true;
}

// The header lists the current runs: the server writes it.
const listRuns = (entries) => entries.filter((entry) => entry.state === "running").map((entry) => entry.run).join(" ");
let runsInHeader = null;

async function updateHeader(activeRuns) {
  const { answer, page } = await fetchPage(location.pathname + location.search);
  const next = page.getElementById("now");
  if (!answer.ok || !next) return;
  document.getElementById("now").replaceChildren(...next.childNodes);
  runsInHeader = activeRuns;
}

function show(queue) {
  queue.entries.forEach(showEntry);
  tag(document.getElementById("queue-state"), queue.state);
  const reason = document.getElementById("queue-why");
  reason.hidden = queue.reason === null;
  reason.textContent = queue.reason ?? "";
  reason.classList.toggle("bad", ["stopped", "refused"].includes(queue.state));
  const left = document.getElementById("queue-left");
  if (left) left.textContent = queue.remaining ? timeLeft(queue.remaining.seconds, queue.remaining.is_upper_bound) : "";
  const isOpen = ["waiting", "open"].includes(queue.state);
  const cancel = document.getElementById("queue-cancel");
  if (cancel) cancel.hidden = !isOpen;
  return isOpen || queue.entries.some((entry) => ["starting", "running"].includes(entry.state));
}

const connectionNote = document.getElementById("queue-silent");

poll(async () => {
  const queue = await fetchJson(box.dataset.url);
  connectionNote.hidden = true;
  const isActive = show(queue), activeRuns = listRuns(queue.entries);
  runsInHeader ??= activeRuns;
  if (activeRuns !== runsInHeader) await updateHeader(activeRuns);
  return isActive ? 2000 : null;
}, (error) => {
  connectionNote.hidden = false;
  connectionNote.textContent = `This page may be out of date: ${errorText(error)}.`;
});
