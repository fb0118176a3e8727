// The desk shows the current state of the slots and scans. The server writes the cards of the slots;
// this replaces the old cards with the new ones.

import { ask, fresh, errorText, poll } from "./poll.js";

const EVERY = 1000;
const ticket = document.getElementById("ticket");
const box = document.getElementById("slots");

function showTicket(desk) {
  for (const [name, text] of Object.entries(desk.ticket)) {
    ticket.querySelector(`[data-part="${name}"]`).textContent = text || "–";
  }
  if (desk.scanner) document.getElementById("scanner").textContent = desk.scanner;
}

const cards = (root) => [...root.querySelectorAll("[data-slot]")];
const stateOf = (slot) => ["state", "code", "verdict_number", "run", "message", "action"].map((name) => slot[name] ?? "").join("|");
const wordOf = (card) => card.querySelector('[data-part="word"]').textContent.trim();

// The focused link or button, to focus it again in the new card.
function focused() {
  const at = document.activeElement;
  if (!box.contains(at)) return () => {};
  const name = at.closest("[data-slot]")?.dataset.slot;
  const part = at.dataset.part;
  return () => {
    const card = cards(box).find((item) => item.dataset.slot === name);
    (card?.querySelector(`[data-part="${part}"]`) ?? box).focus();
  };
}

async function update() {
  const { answer, page } = await fresh("/desk");
  const next = page.getElementById("slots");
  // Signed out, or an error: what is shown stays.
  if (!answer.ok || !next) throw Object.assign(new Error("no slots"), { status: answer.redirected ? 401 : answer.status });
  const before = new Map(cards(box).map((card) => [card.dataset.slot, card.dataset.state]));
  const back = focused();
  box.replaceChildren(...next.childNodes);
  back();
  const changed = cards(box).filter((card) => before.get(card.dataset.slot) !== card.dataset.state);
  document.getElementById("slot-news").textContent = changed
    .map((card) => `${card.dataset.slot}: ${wordOf(card)}.`).join(" ");
}

function showSlots(slots) {
  const shown = cards(box);
  const same = shown.length === slots.length
    && shown.every((card, at) => card.dataset.slot === slots[at].name && card.dataset.state === stateOf(slots[at]));
  if (!same) return update();
  for (const [at, slot] of slots.entries()) {
    if (slot.countdown_seconds !== null) shown[at].querySelector('[data-part="left"]').textContent = slot.countdown_seconds;
  }
  return null;
}

// Why the agent refuses the request; null when it was done.
async function refusal(form) {
  const fields = new FormData(form);
  const answer = await fetch(form.dataset.url, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-CSRF-Token": fields.get("csrf") },
    body: JSON.stringify({ do: fields.get("do") }),
  });
  const request = await answer.json();
  if (!answer.ok) return request.error.message;
  for (let tries = 0; tries < 20; tries += 1) {
    await new Promise((done) => { setTimeout(done, 300); });
    const state = await ask(request.href);
    if (state.state === "done") return null;
    if (state.state === "refused") return state.error.message;
  }
  return "the agent has not answered yet";
}

async function send(event) {
  event.preventDefault();
  const form = event.target, problem = document.getElementById("slot-problem");
  const button = form.querySelector("button");
  button.setAttribute("aria-disabled", "true");
  let reason;
  try {
    reason = await refusal(form);
  } catch (error) {
    reason = errorText(error);
  }
  button.removeAttribute("aria-disabled");
  problem.hidden = reason === null;
  problem.textContent = reason ?? "";
}

const silent = document.getElementById("silent");

async function look() {
  const desk = await ask(ticket.dataset.url);
  showTicket(desk);
  if (box) {
    silent.hidden = true;
    await showSlots(desk.slots);
  }
  return EVERY;
}

box?.addEventListener("submit", send);
document.addEventListener("scanned", () => setTimeout(() => look().catch(() => {}), 700));
poll(look, (error) => {
  if (!silent) return;
  silent.hidden = false;
  silent.textContent = `This page may be out of date: ${errorText(error)}.`;
});
