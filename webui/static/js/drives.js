// The cards of the drives that are plugged in. The server writes the cards; this asks whether anything
// has changed, and replaces the old cards with the new ones.

import { ask, fresh, errorText, poll } from "./poll.js";

const EVERY = 1000;
// Keeps "4 min ago" up to date.
const AT_LEAST_EVERY = 60_000;
const box = document.getElementById("cards");
const news = document.getElementById("news");
const silent = document.getElementById("silent");
let shown = box.dataset.state;
let updatedAt = Date.now();

const cards = (root) => new Map([...root.querySelectorAll("[data-key]")].map((card) => [card.dataset.key, card]));
const name = (card) => card.dataset.name;
const stateOf = ({ scanned_utc: scanned, agent, running }) => `${scanned ?? ""}|${agent ? "yes" : "no"}|${running.join(",")}`;

// The focused link or button, to focus it again in the new card.
function focused() {
  const at = document.activeElement;
  if (!box.contains(at)) return () => {};
  const key = at.closest("[data-key]")?.dataset.key;
  const part = at.dataset.part;
  return () => {
    const card = key === undefined ? undefined : cards(box).get(key);
    (card?.querySelector(`[data-part="${part}"]`) ?? card?.querySelector("a") ?? box).focus();
  };
}

async function update() {
  const { answer, page } = await fresh(location.pathname);
  const next = page.getElementById("cards");
  // Signed out, or an error: what is shown stays.
  if (!answer.ok || !next) throw Object.assign(new Error("no cards"), { status: answer.redirected ? 401 : answer.status });
  const before = cards(box);
  const back = focused();
  box.replaceChildren(...next.childNodes);
  box.dataset.state = next.dataset.state;
  for (const part of ["scanned", "now"]) {
    const from = page.getElementById(part), to = document.getElementById(part);
    if (from && to) to.replaceChildren(...from.childNodes);
  }
  back();
  const after = cards(box);
  const messages = [
    ...[...after].filter(([key]) => !before.has(key)).map(([, card]) => `${name(card)} was plugged in.`),
    ...[...before].filter(([key]) => !after.has(key)).map(([, card]) => `${name(card)} was unplugged.`),
  ];
  if (messages.length) news.textContent = messages.join(" ");
  for (const [key, card] of after) if (!before.has(key)) card.classList.add("new");
  updatedAt = Date.now();
  shown = next.dataset.state;
}

poll(async () => {
  const status = await ask("/api/v1/status");
  silent.hidden = true;
  if (stateOf(status) !== shown || Date.now() - updatedAt > AT_LEAST_EVERY) await update();
  return EVERY;
}, (error) => {
  silent.hidden = false;
  silent.textContent = `This page may be out of date: ${errorText(error)}.`;
});
