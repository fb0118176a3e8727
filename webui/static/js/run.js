// A run's page: the chart, and while it runs the steps, the progress and the end of it.

import { clock, SessionChart } from "./chart.js";
import { ask, fresh, poll, told } from "./poll.js";
import { duration, timeLeft, word } from "./words.js";

const box = document.getElementById("chart");
const number = box.dataset.run;
const timed = new Set(box.dataset.timed.split(",").filter(Boolean).map(Number));
const by = (id) => document.getElementById(id);
const chart = new SessionChart(box, timed, JSON.parse(box.dataset.passes), { read: by("v-read"), write: by("v-write"), temp: by("v-temp"), time: by("v-time") });
box.session = chart;
let cursor = -1;
// The states of the steps told so far. Those before the one in progress do not change any more:
// with a thousand rounds they are not asked for again. A run that is over has them in its page.
const known = new Map();
let asked = box.dataset.state === "running" ? 0 : Number(box.dataset.steps);
// Of a long record the server sends what the chart can show: of each so many samples the extremes.
let every = Number(box.dataset.every);
let most = Number(box.dataset.most);

for (const button of document.querySelectorAll("[data-show]")) {
  button.addEventListener("click", () => {
    for (const other of document.querySelectorAll("[data-show]")) other.setAttribute("aria-pressed", String(other === button));
    const held = button.dataset.show === "inflight";
    by("l-read").textContent = held ? "requests that the drive holds" : "read";
    by("l-write").hidden = held;
    chart.choose(button.dataset.show);
  });
}

const gigabytes = (count) => (count / 1e9).toFixed(count < 1e9 ? 2 : 1);

function showSteps(answer) {
  let now = null;
  for (const step of answer.steps) {
    const rect = document.querySelector(`#steps rect[data-index="${step.idx}"]`);
    if (!rect) continue;
    known.set(step.idx, step.state);
    asked = Math.max(asked, step.idx);
    rect.setAttribute("class", `${step.state} ${rect.dataset.look}`);
    rect.querySelector("title").textContent = `${step.name}: ${word(step.state)}${step.why ? `, ${step.why}` : ""}`;
    if (step.state === "running") now = { step, rect };
  }
  const done = [...known.values()].filter((state) => state !== "running").length;
  const total = Number(box.dataset.steps);
  const steps = `${done} of ${total} steps done`;
  by("steps").setAttribute("aria-label", steps);
  const live = answer.live ?? {};
  // Written once a second: when a step has just begun, it still tells of the one before.
  const here = now && live.step === now.step.idx ? live : {};
  const part = by("part");
  if (typeof here.fraction === "number") {
    part.setAttribute("x", now.rect.getAttribute("x"));
    part.setAttribute("width", String(Number(now.rect.getAttribute("width")) * Math.min(1, Math.max(0, here.fraction))));
  } else part.setAttribute("width", "0");
  if (!by("live")) return;
  by("now-step").textContent = now?.step.name ?? live.name ?? "between two steps";
  const said = [now ? `step ${now.step.idx + 1} of ${total}` : steps];
  if (typeof live.seconds_left === "number") {
    said.push(timeLeft(live.seconds_left, live.at_most));
  }
  const bytes = Number(now?.rect.dataset.bytes ?? 0);
  if (bytes && typeof here.fraction === "number") {
    said.push(`${gigabytes(here.fraction * bytes)} of ${gigabytes(bytes)} GB in this step`);
  }
  if (here.text && here.text !== here.name) said.push(here.text);
  by("now-text").textContent = `· ${said.join(" · ")}`;
}

// What began, ended and happened, in order of time. No more lines than somebody reads.
const LINES = 400;
const log = by("log");
const logged = new Map();
const lines = [];

function line(key, t, text) {
  if (logged.has(key)) {
    const said = logged.get(key);
    if (said.textContent !== text) said.textContent = text;
    return;
  }
  const element = document.createElement("div");
  const at = element.appendChild(document.createElement("span"));
  at.className = "dim";
  at.textContent = t === null ? "" : clock(t);
  const said = element.appendChild(document.createElement("span"));
  said.textContent = text;
  const next = t === null ? undefined : lines.find((one) => one.t > t);
  log.insertBefore(element, next?.element ?? null);
  lines.splice(next ? lines.indexOf(next) : lines.length, 0, { t: t ?? Infinity, element });
  logged.set(key, said);
  while (lines.length > LINES) lines.shift().element.remove();
}

function showLog({ steps, events, temperatures }) {
  if (!log) return;
  // Who scrolled back is left there.
  const follows = log.scrollHeight - log.scrollTop - log.clientHeight < 30;
  for (const step of steps.slice(-LINES)) {
    const state = word(step.state);
    const told = step.t_end === null ? state : `${state} in ${duration(step.t_end - step.t_start)}`;
    const ended = step.state === "running" ? "" : ` · ${told}${step.why ? `: ${step.why}` : ""}`;
    line(`step ${step.idx}`, step.t_start, `${step.idx + 1}. ${step.name}${ended}`);
  }
  events.forEach((event, n) => line(`event ${n}`, event.t, `${event.kind}: ${event.text}`));
  temperatures.slice(-LINES).forEach((one) => { if (one.celsius !== null) line(`warm ${one.t}`, one.t, `${one.celsius} °C`); });
  if (follows) log.scrollTop = log.scrollHeight;
}

// The figures of the steps that are done. The server writes them; this puts the new ones in the place
// of the old when steps have ended, unless somebody is at them.
const figures = by("so-far");
let figuresOf = Number(figures.dataset.done), lookedAt = 0;

async function renew() {
  const done = [...known.values()].filter((state) => state !== "running").length;
  if (done <= figuresOf || Date.now() - lookedAt < 3000 || figures.contains(document.activeElement)) return;
  lookedAt = Date.now();
  const { answer, page } = await fresh(location.pathname);
  const next = page.getElementById("so-far");
  // Signed out, or an error: what is shown stays, and the poll tells of it.
  if (!answer.ok || !next) return;
  figures.replaceChildren(...next.childNodes);
  figuresOf = Number(next.dataset.done);
}

// A page that stays open all day gets more seconds than it can show: it asks for all of them again,
// reduced, as far as the server does. What is drawn stays until they are there.
function thin() {
  every = Math.min(1000, Math.max(2, Math.ceil((cursor + 1) / Number(box.dataset.parts))));
  cursor = -1;
  chart.samples = [];
  by("reduced").hidden = false;
  by("reduced").textContent = `Of each ${every} samples those with the least and the most are drawn; all of them are in the files.`;
}

poll(async () => {
  const answer = await ask(`/api/v1/runs/${number}/samples?after=${cursor}&every=${every}&steps=${asked}`);
  cursor = answer.next;
  chart.mark(answer.steps);
  chart.add(answer.samples, answer.temperatures, answer.more);
  const running = box.dataset.state === "running";
  if (running) {
    showSteps(answer);
    showLog(answer);
    if (answer.state === "running") await renew();
  }
  // What is new from now on comes second by second.
  if (!answer.more) {
    // What is reduced already does not get less.
    if (every > 1) most = Math.max(most, 2 * chart.samples.length);
    every = 1;
    box.dataset.all = "yes";
    if (running && chart.samples.length > most) thin();
  }
  if (answer.more) return 0;
  if (answer.state === "running") return 1000;
  // The page shows what the server knows of the end: load it anew, once.
  if (running) location.replace(location.pathname);
  return null;
}, (error) => {
  if (by("now-text")) by("now-text").textContent = `· ${told(error)}`;
});
