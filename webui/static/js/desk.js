// The desk shows the current state of the slots and scans. The server writes the cards of the slots;
// this replaces the old cards with the new ones.

import { fetchJson, fetchPage, errorText, poll } from "./poll.js";

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
function rememberFocus() {
  const element = document.activeElement;
  if (!box.contains(element)) return () => {};
  const name = element.closest("[data-slot]")?.dataset.slot;
  const part = element.dataset.part;
  return () => {
    const card = cards(box).find((item) => item.dataset.slot === name);
    (card?.querySelector(`[data-part="${part}"]`) ?? box).focus();
  };
}

async function update() {
  const { answer, page } = await fetchPage("/desk");
  const next = page.getElementById("slots");
  // Signed out, or an error: what is shown stays.
  if (!answer.ok || !next) throw Object.assign(new Error("no slots"), { status: answer.redirected ? 401 : answer.status });
  const oldStates = new Map(cards(box).map((card) => [card.dataset.slot, card.dataset.state]));
  const restoreFocus = rememberFocus();
  box.replaceChildren(...next.childNodes);
  restoreFocus();
  const changedCards = cards(box).filter((card) => oldStates.get(card.dataset.slot) !== card.dataset.state);
  document.getElementById("slot-news").textContent = changedCards
    .map((card) => `${card.dataset.slot}: ${wordOf(card)}.`).join(" ");
}

function showSlots(slots) {
  const shownCards = cards(box);
  const isSame = shownCards.length === slots.length
    && shownCards.every((card, index) => card.dataset.slot === slots[index].name && card.dataset.state === stateOf(slots[index]));
  if (!isSame) return update();
  for (const [index, slot] of slots.entries()) {
    if (slot.countdown_seconds !== null) shownCards[index].querySelector('[data-part="left"]').textContent = slot.countdown_seconds;
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
  for (let attempt = 0; attempt < 20; attempt += 1) {
    await new Promise((resolve) => { setTimeout(resolve, 300); });
    const state = await fetchJson(request.href);
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

const connectionNote = document.getElementById("silent");

async function showDesk() {
  const desk = await fetchJson(ticket.dataset.url);
  showTicket(desk);
  if (box) {
    connectionNote.hidden = true;
    await showSlots(desk.slots);
  }
  return EVERY;
}

box?.addEventListener("submit", send);
document.addEventListener("scanned", () => setTimeout(() => showDesk().catch(() => {}), 700));
poll(showDesk, (error) => {
  if (!connectionNote) return;
  connectionNote.hidden = false;
  connectionNote.textContent = `This page may be out of date: ${errorText(error)}.`;
});
