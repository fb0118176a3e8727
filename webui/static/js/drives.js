// The cards of the drives that are plugged in. The server writes the cards; this asks whether anything
// has changed, and replaces the old cards with the new ones.

import { fetchJson, fetchPage, errorText, poll } from "./poll.js";

const EVERY = 1000;
// Keeps "4 min ago" up to date.
const AT_LEAST_EVERY = 60_000;
const box = document.getElementById("cards");
const news = document.getElementById("news");
const connectionNote = document.getElementById("silent");
let shownState = box.dataset.state;
let updatedAt = Date.now();

const cards = (root) => new Map([...root.querySelectorAll("[data-key]")].map((card) => [card.dataset.key, card]));
const nameOf = (card) => card.dataset.name;
const stateOf = ({ scanned_utc: scanTime, agent, running }) => `${scanTime ?? ""}|${agent ? "yes" : "no"}|${running.join(",")}`;

// The focused link or button, to focus it again in the new card.
function rememberFocus() {
  const element = document.activeElement;
  if (!box.contains(element)) return () => {};
  const key = element.closest("[data-key]")?.dataset.key;
  const part = element.dataset.part;
  return () => {
    const card = key === undefined ? undefined : cards(box).get(key);
    (card?.querySelector(`[data-part="${part}"]`) ?? card?.querySelector("a") ?? box).focus();
  };
}

async function update() {
  const { answer, page } = await fetchPage(location.pathname);
  const next = page.getElementById("cards");
  // Signed out, or an error: what is shown stays.
  if (!answer.ok || !next) throw Object.assign(new Error("no cards"), { status: answer.redirected ? 401 : answer.status });
  const oldCards = cards(box);
  const restoreFocus = rememberFocus();
  box.replaceChildren(...next.childNodes);
  box.dataset.state = next.dataset.state;
  for (const part of ["scanned", "now"]) {
    const from = page.getElementById(part), to = document.getElementById(part);
    if (from && to) to.replaceChildren(...from.childNodes);
  }
  restoreFocus();
  const newCards = cards(box);
  const messages = [
    ...[...newCards].filter(([key]) => !oldCards.has(key)).map(([, card]) => `${nameOf(card)} was plugged in.`),
    ...[...oldCards].filter(([key]) => !newCards.has(key)).map(([, card]) => `${nameOf(card)} was unplugged.`),
  ];
  if (messages.length) news.textContent = messages.join(" ");
  for (const [key, card] of newCards) if (!oldCards.has(key)) card.classList.add("new");
  updatedAt = Date.now();
  shownState = next.dataset.state;
}

poll(async () => {
  const status = await fetchJson("/api/v1/status");
  connectionNote.hidden = true;
  if (stateOf(status) !== shownState || Date.now() - updatedAt > AT_LEAST_EVERY) await update();
  return EVERY;
}, (error) => {
  connectionNote.hidden = false;
  connectionNote.textContent = `This page may be out of date: ${errorText(error)}.`;
});
