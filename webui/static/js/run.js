// A run's page: the chart, and during the run its steps and progress.

import { clock, SessionChart } from "./chart.js";
import { ask, fresh, errorText, poll } from "./poll.js";
import { duration, timeLeft } from "./words.js";

const box = document.getElementById("chart");
const number = box.dataset.run;
const timed = new Set(box.dataset.timed.split(",").filter(Boolean).map(Number));
const by = (id) => document.getElementById(id);
const chart = new SessionChart(box, timed, JSON.parse(box.dataset.passes), { read: by("v-read"), write: by("v-write"), temp: by("v-temp"), time: by("v-time") });
box.session = chart;
let cursor = -1;
// The states of the steps so far. Those before the current one no longer change: with a thousand
// rounds they are not requested again. The page of a finished run has them.
const stepStates = new Map();
let firstStep = box.dataset.state === "running" ? 0 : Number(box.dataset.steps);
// The server reduces a long record to what the chart can show: the extremes of every so many samples.
let every = Number(box.dataset.every);
let most = Number(box.dataset.most);

for (const button of document.querySelectorAll("[data-show]")) {
  button.addEventListener("click", () => {
    for (const other of document.querySelectorAll("[data-show]")) other.setAttribute("aria-pressed", String(other === button));
    const isInFlight = button.dataset.show === "inflight";
    by("l-read").textContent = isInFlight ? "requests in flight" : "read";
    by("l-write").hidden = isInFlight;
    chart.choose(button.dataset.show);
  });
}

const gigabytes = (count) => (count / 1e9).toFixed(count < 1e9 ? 2 : 1);

function showSteps(answer) {
  let now = null;
  for (const step of answer.steps) {
    const rect = document.querySelector(`#steps rect[data-index="${step.step_index}"]`);
    if (!rect) continue;
    stepStates.set(step.step_index, step.state);
    firstStep = Math.max(firstStep, step.step_index);
    rect.setAttribute("class", `${step.state} ${rect.dataset.look}`);
    rect.querySelector("title").textContent = `${step.name}: ${step.state}${step.reason ? `, ${step.reason}` : ""}`;
    if (step.state === "running") now = { step, rect };
  }
  const done = [...stepStates.values()].filter((state) => state !== "running").length;
  const total = Number(box.dataset.steps);
  const steps = `${done} of ${total} steps done`;
  by("steps").setAttribute("aria-label", steps);
  const live = answer.live ?? {};
  // Updated once a second: when a step has just started, it may still describe the previous one.
  const here = now && live.step_index === now.step.step_index ? live : {};
  const part = by("part");
  if (typeof here.fraction === "number") {
    part.setAttribute("x", now.rect.getAttribute("x"));
    part.setAttribute("width", String(Number(now.rect.getAttribute("width")) * Math.min(1, Math.max(0, here.fraction))));
  } else part.setAttribute("width", "0");
  if (!by("live")) return;
  by("now-step").textContent = now?.step.name ?? live.name ?? "between two steps";
  const parts = [now ? `step ${now.step.step_index + 1} of ${total}` : steps];
  if (typeof live.seconds_left === "number") {
    parts.push(timeLeft(live.seconds_left, live.is_upper_bound));
  }
  const bytes = Number(now?.rect.dataset.bytes ?? 0);
  if (bytes && typeof here.fraction === "number") {
    parts.push(`${gigabytes(here.fraction * bytes)} of ${gigabytes(bytes)} GB in this step`);
  }
  if (here.text && here.text !== here.name) parts.push(here.text);
  by("now-text").textContent = `· ${parts.join(" · ")}`;
}

// Steps, events and temperatures in order of time; only the last lines are kept.
const LINES = 400;
const log = by("log");
const logged = new Map();
const lines = [];

function line(key, t, text) {
  if (logged.has(key)) {
    const shown = logged.get(key);
    if (shown.textContent !== text) shown.textContent = text;
    return;
  }
  const element = document.createElement("div");
  const at = element.appendChild(document.createElement("span"));
  at.className = "dim";
  at.textContent = t === null ? "" : clock(t);
  const shown = element.appendChild(document.createElement("span"));
  shown.textContent = text;
  const next = t === null ? undefined : lines.find((one) => one.t > t);
  log.insertBefore(element, next?.element ?? null);
  lines.splice(next ? lines.indexOf(next) : lines.length, 0, { t: t ?? Infinity, element });
  logged.set(key, shown);
  while (lines.length > LINES) lines.shift().element.remove();
}

function showLog({ steps, events, temperatures }) {
  if (!log) return;
  // Scroll only when the end of the log is visible.
  const follows = log.scrollHeight - log.scrollTop - log.clientHeight < 30;
  for (const step of steps.slice(-LINES)) {
    const state = step.state;
    const outcome = step.t_end === null ? state : `${state} in ${duration(step.t_end - step.t_start)}`;
    const ended = step.state === "running" ? "" : ` · ${outcome}${step.reason ? `: ${step.reason}` : ""}`;
    line(`step ${step.step_index}`, step.t_start, `${step.step_index + 1}. ${step.name}${ended}`);
  }
  events.forEach((event, n) => line(`event ${n}`, event.t, `${event.kind}: ${event.text}`));
  temperatures.slice(-LINES).forEach((one) => { if (one.celsius !== null) line(`warm ${one.t}`, one.t, `${one.celsius} °C`); });
  if (follows) log.scrollTop = log.scrollHeight;
}

// The results of the finished steps. The server writes them; this replaces the old ones when steps have
// ended, unless one of them has the focus.
const results = by("so-far");
let resultsOf = Number(results.dataset.done), lookedAt = 0;

async function update() {
  const done = [...stepStates.values()].filter((state) => state !== "running").length;
  if (done <= resultsOf || Date.now() - lookedAt < 3000 || results.contains(document.activeElement)) return;
  lookedAt = Date.now();
  const { answer, page } = await fresh(location.pathname);
  const next = page.getElementById("so-far");
  // Signed out, or an error: what is shown stays, and the poll reports it.
  if (!answer.ok || !next) return;
  results.replaceChildren(...next.childNodes);
  resultsOf = Number(next.dataset.done);
}

// A page that stays open all day gets more samples than it can show: it requests all of them again,
// reduced. The chart stays until they arrive.
function thin() {
  every = Math.min(1000, Math.max(2, Math.ceil((cursor + 1) / Number(box.dataset.parts))));
  cursor = -1;
  chart.samples = [];
  by("reduced").hidden = false;
  by("reduced").textContent = `Reduced for display: minimum and maximum of every ${every} samples. The exports have all samples.`;
}

poll(async () => {
  const answer = await ask(`/api/v1/runs/${number}/samples?after=${cursor}&every=${every}&steps=${firstStep}`);
  cursor = answer.next;
  chart.mark(answer.steps);
  chart.add(answer.samples, answer.temperatures, answer.more);
  const running = box.dataset.state === "running";
  if (running) {
    showSteps(answer);
    showLog(answer);
    if (answer.state === "running") await update();
  }
  // From now on new samples come second by second.
  if (!answer.more) {
    // Reduced samples are not reduced further.
    if (every > 1) most = Math.max(most, 2 * chart.samples.length);
    every = 1;
    box.dataset.all = "yes";
    if (running && chart.samples.length > most) thin();
  }
  if (answer.more) return 0;
  if (answer.state === "running") return 1000;
  // Reload the page once: the server writes the results.
  if (running) location.replace(location.pathname);
  return null;
}, (error) => {
  if (by("now-text")) by("now-text").textContent = `· ${errorText(error)}`;
});
