// A run's page: the chart, and while it runs the steps, the progress and the end of it.

import { SessionChart } from "./chart.js";
import { say, word } from "./words.js";

const box = document.getElementById("chart");
const number = box.dataset.run;
const timed = new Set(box.dataset.timed.split(",").filter(Boolean).map(Number));
const by = (id) => document.getElementById(id);
const chart = new SessionChart(box, timed, { read: by("v-read"), write: by("v-write"), temp: by("v-temp"), time: by("v-time") });
let cursor = -1;
// The states of the steps told so far. Those before the one in progress do not change any more:
// with a thousand rounds they are not asked for again. A run that is over has them in its page.
const known = new Map();
let asked = box.dataset.state === "running" ? 0 : Number(box.dataset.steps);
// Of a long record the server sends what the chart can show: of each so many samples the extremes.
let every = Number(box.dataset.every);
let misses = 0;

for (const button of document.querySelectorAll("[data-show]")) {
  button.addEventListener("click", () => {
    for (const other of document.querySelectorAll("[data-show]")) other.setAttribute("aria-pressed", String(other === button));
    const held = button.dataset.show === "inflight";
    by("l-read").textContent = held ? say("requests that the drive holds") : say("read");
    by("l-write").hidden = held;
    chart.choose(button.dataset.show);
  });
}

const duration = (seconds) => {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
};

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
  const told = say("%(done)s of %(total)s steps done", { done, total });
  by("steps").setAttribute("aria-label", told);
  const live = answer.live ?? {};
  const part = by("part");
  if (now && typeof live.fraction === "number" && live.step === now.step.idx) {
    part.setAttribute("x", now.rect.getAttribute("x"));
    part.setAttribute("width", String(Number(now.rect.getAttribute("width")) * Math.min(1, Math.max(0, live.fraction))));
  } else part.setAttribute("width", "0");
  if (!by("live")) return;
  by("now-step").textContent = live.name ?? now?.step.name ?? say("between two steps");
  const said = [now ? say("step %(number)s of %(total)s", { number: now.step.idx + 1, total }) : told];
  if (typeof live.seconds_left === "number") {
    const time = duration(live.seconds_left);
    said.push(live.at_most ? say("at most %(time)s left", { time }) : say("%(time)s left", { time }));
  }
  const bytes = Number(now?.rect.dataset.bytes ?? 0);
  if (bytes && typeof live.fraction === "number") {
    said.push(say("%(done)s of %(total)s GB in this step", { done: gigabytes(live.fraction * bytes), total: gigabytes(bytes) }));
  }
  if (live.text && live.text !== live.name) said.push(live.text);
  by("now-text").textContent = `· ${said.join(" · ")}`;
}

async function ask() {
  const answer = await fetch(`/api/v1/runs/${number}/samples?after=${cursor}&every=${every}&steps=${asked}`, { headers: { Accept: "application/json" } });
  if (!answer.ok) throw new Error(String(answer.status));
  return answer.json();
}

async function poll() {
  let wait = 1000;
  try {
    const answer = await ask();
    misses = 0;
    cursor = answer.next;
    chart.add(answer.samples, answer.temperatures);
    if (box.dataset.state === "running") showSteps(answer);
    // What is new from now on comes second by second.
    if (!answer.more) every = 1;
    if (answer.more) wait = 0;
    else if (answer.state !== "running") {
      // The page shows what the server knows of the end: load it anew, once.
      if (box.dataset.state === "running") location.replace(location.pathname);
      return;
    }
  } catch (error) {
    misses += 1;
    wait = Math.min(30000, 1000 * 2 ** misses);
    if (by("now-text")) by("now-text").textContent = `· ${say("the bench does not answer, trying again")}`;
  }
  setTimeout(poll, wait);
}

poll();
