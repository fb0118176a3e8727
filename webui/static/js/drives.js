// The cards of the drives as they are plugged in and out. The server writes the cards; this asks
// whether anything has changed, and puts the new ones in their place.

import { ask, fresh, poll, told } from "./poll.js";

const EVERY = 1000;
// "4 min ago" is to stay true.
const AT_LEAST_EVERY = 60_000;
const box = document.getElementById("cards");
const news = document.getElementById("news");
const silent = document.getElementById("silent");
let shown = box.dataset.state;
let asked = Date.now();

const cards = (root) => new Map([...root.querySelectorAll("[data-key]")].map((card) => [card.dataset.key, card]));
const name = (card) => card.dataset.name;
const stateOf = ({ scanned_utc: scanned, agent, running }) => `${scanned ?? ""}|${agent ? "yes" : "no"}|${running.join(",")}`;

// The link or button that has the focus, to be found again in the new card.
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

async function renew() {
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
  const said = [
    ...[...after].filter(([key]) => !before.has(key)).map(([, card]) => `${name(card)} was plugged in.`),
    ...[...before].filter(([key]) => !after.has(key)).map(([, card]) => `${name(card)} was unplugged.`),
  ];
  if (said.length) news.textContent = said.join(" ");
  for (const [key, card] of after) if (!before.has(key)) card.classList.add("new");
  asked = Date.now();
  shown = next.dataset.state;
}

poll(async () => {
  const status = await ask("/api/v1/status");
  silent.hidden = true;
  if (stateOf(status) !== shown || Date.now() - asked > AT_LEAST_EVERY) await renew();
  return EVERY;
}, (error) => {
  silent.hidden = false;
  silent.textContent = `What stands here may be out of date: ${told(error)}.`;
});
