// A run's page: the chart, and during the run its steps and progress.

import { clock, SessionChart } from "./chart.js";
import { fetchJson, fetchPage, errorText, poll } from "./poll.js";
import { duration, timeLeft } from "./words.js";

const box = document.getElementById("chart");
const number = box.dataset.run;
const timedSteps = new Set(box.dataset.timed.split(",").filter(Boolean).map(Number));
const byId = (id) => document.getElementById(id);
const chart = new SessionChart(box, timedSteps, JSON.parse(box.dataset.passes), { read: byId("v-read"), write: byId("v-write"), temp: byId("v-temp"), time: byId("v-time") });
box.session = chart;
let cursor = -1;
// The states of the steps so far. Those before the current one no longer change: with a thousand
// rounds they are not requested again. The page of a finished run has them.
const stepStates = new Map();
let firstStep = box.dataset.state === "running" ? 0 : Number(box.dataset.steps);
// The server reduces a long record to what the chart can show: the extremes of every so many samples.
let samplesPerPoint = Number(box.dataset.every);
let mostSamples = Number(box.dataset.most);

for (const button of document.querySelectorAll("[data-show]")) {
  button.addEventListener("click", () => {
    for (const other of document.querySelectorAll("[data-show]")) other.setAttribute("aria-pressed", String(other === button));
    const isInFlight = button.dataset.show === "inflight";
    byId("l-read").textContent = isInFlight ? "requests in flight" : "read";
    byId("l-write").hidden = isInFlight;
    chart.choose(button.dataset.show);
  });
}

const gigabytes = (count) => (count / 1e9).toFixed(count < 1e9 ? 2 : 1);

function showSteps(answer) {
  let current = null;
  for (const step of answer.steps) {
    const rect = document.querySelector(`#steps rect[data-index="${step.step_index}"]`);
    if (!rect) continue;
    stepStates.set(step.step_index, step.state);
    firstStep = Math.max(firstStep, step.step_index);
    rect.setAttribute("class", `${step.state} ${rect.dataset.look}`);
    rect.querySelector("title").textContent = `${step.name}: ${step.state}${step.reason ? `, ${step.reason}` : ""}`;
    if (step.state === "running") current = { step, rect };
  }
  const doneCount = [...stepStates.values()].filter((state) => state !== "running").length;
  const total = Number(box.dataset.steps);
  const steps = `${doneCount} of ${total} steps done`;
  byId("steps").setAttribute("aria-label", steps);
  const live = answer.live ?? {};
  // Updated once a second: when a step has just started, it may still describe the previous one.
  const progress = current && live.step_index === current.step.step_index ? live : {};
  const part = byId("part");
  if (typeof progress.fraction === "number") {
    part.setAttribute("x", current.rect.getAttribute("x"));
    part.setAttribute("width", String(Number(current.rect.getAttribute("width")) * Math.min(1, Math.max(0, progress.fraction))));
  } else part.setAttribute("width", "0");
  if (!byId("live")) return;
  byId("now-step").textContent = current?.step.name ?? live.name ?? "between two steps";
  const parts = [current ? `step ${current.step.step_index + 1} of ${total}` : steps];
  if (typeof live.seconds_left === "number") {
    parts.push(timeLeft(live.seconds_left, live.is_upper_bound));
  }
  const bytes = Number(current?.rect.dataset.bytes ?? 0);
  if (bytes && typeof progress.fraction === "number") {
    parts.push(`${gigabytes(progress.fraction * bytes)} of ${gigabytes(bytes)} GB in this step`);
  }
  if (progress.text && progress.text !== progress.name) parts.push(progress.text);
  byId("now-text").textContent = `· ${parts.join(" · ")}`;
}

// Steps, events and temperatures in order of time; only the last lines are kept.
const LINES = 400;
const log = byId("log");
const logTexts = new Map();
const lines = [];

function showLine(key, t, text) {
  if (logTexts.has(key)) {
    const element = logTexts.get(key);
    if (element.textContent !== text) element.textContent = text;
    return;
  }
  const element = document.createElement("div");
  const time = element.appendChild(document.createElement("span"));
  time.className = "dim";
  time.textContent = t === null ? "" : clock(t);
  const message = element.appendChild(document.createElement("span"));
  message.textContent = text;
  const next = t === null ? undefined : lines.find((entry) => entry.t > t);
  log.insertBefore(element, next?.element ?? null);
  lines.splice(next ? lines.indexOf(next) : lines.length, 0, { t: t ?? Infinity, element });
  logTexts.set(key, message);
  while (lines.length > LINES) lines.shift().element.remove();
}

function showLog({ steps, events, temperatures }) {
  if (!log) return;
  // Scroll only when the end of the log is visible.
  const isAtEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 30;
  for (const step of steps.slice(-LINES)) {
    const state = step.state;
    const outcome = step.t_end === null ? state : `${state} in ${duration(step.t_end - step.t_start)}`;
    const outcomeText = step.state === "running" ? "" : ` · ${outcome}${step.reason ? `: ${step.reason}` : ""}`;
    showLine(`step ${step.step_index}`, step.t_start, `${step.step_index + 1}. ${step.name}${outcomeText}`);
  }
  events.forEach((event, n) => showLine(`event ${n}`, event.t, `${event.kind}: ${event.text}`));
  temperatures.slice(-LINES).forEach((reading) => { if (reading.celsius !== null) showLine(`warm ${reading.t}`, reading.t, `${reading.celsius} °C`); });
  if (isAtEnd) log.scrollTop = log.scrollHeight;
}

// The results of the finished steps. The server writes them; this replaces the old ones when steps have
// ended, unless one of them has the focus.
const results = byId("so-far");
let stepsWithResults = Number(results.dataset.done), lastUpdate = 0;

async function update() {
  const doneCount = [...stepStates.values()].filter((state) => state !== "running").length;
  if (doneCount <= stepsWithResults || Date.now() - lastUpdate < 3000 || results.contains(document.activeElement)) return;
  lastUpdate = Date.now();
  const { answer, page } = await fetchPage(location.pathname);
  const next = page.getElementById("so-far");
  // Signed out, or an error: what is shown stays, and the poll reports it.
  if (!answer.ok || !next) return;
  results.replaceChildren(...next.childNodes);
  stepsWithResults = Number(next.dataset.done);
}

// A page that stays open all day gets more samples than it can show: it requests all of them again,
// reduced. The chart stays until they arrive.
function reduceSamples() {
  samplesPerPoint = Math.min(1000, Math.max(2, Math.ceil((cursor + 1) / Number(box.dataset.parts))));
  cursor = -1;
  chart.samples = [];
  byId("reduced").hidden = false;
  byId("reduced").textContent = `Reduced for display: minimum and maximum of every ${samplesPerPoint} samples. The exports have all samples.`;
}

poll(async () => {
  const answer = await fetchJson(`/api/v1/runs/${number}/samples?after=${cursor}&every=${samplesPerPoint}&steps=${firstStep}`);
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
    if (samplesPerPoint > 1) mostSamples = Math.max(mostSamples, 2 * chart.samples.length);
    samplesPerPoint = 1;
    box.dataset.all = "yes";
    if (running && chart.samples.length > mostSamples) reduceSamples();
  }
  if (answer.more) return 0;
  if (answer.state === "running") return 1000;
  // Reload the page once: the server writes the results.
  if (running) location.replace(location.pathname);
  return null;
}, (error) => {
  if (byId("now-text")) byId("now-text").textContent = `· ${errorText(error)}`;
});
