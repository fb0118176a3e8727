
"use strict";

// Values under the pointer, and lines that can be hidden. The file is complete without this.

const few = (v) => (Math.abs(v) < 1000 ? String(Number(v.toPrecision(4))) : v.toFixed(0));
const plain = (v) => (Math.abs(v) < 10000 ? few(v) : Math.round(v).toLocaleString("en").replaceAll(",", "\u202f"));
const micros = (v) => (v >= 1e6 ? `${few(v / 1e6)} s` : v >= 1000 ? `${few(v / 1000)} ms` : `${few(v)} µs`);
const bytes = (v) => (v >= 2 ** 20 ? `${few(v / 2 ** 20)} MiB` : v >= 1024 ? `${few(v / 1024)} KiB` : `${v} B`);
const UNITS = { us: micros, B: bytes, C: (v) => `${few(v)} °C`, "B/s": (v) => `${plain(v)} MB/s`, s: (v) => `${plain(v)} s`, "%": (v) => `${few(v)} %` };
const told = (axis, v) => (UNITS[axis.unit] ?? ((n) => `${plain(n)} ${axis.unit}`.trim()))(v * axis.factor);

function place(axis, value) {
  const v = value * axis.factor;
  const part = axis.log
    ? (Math.log(Math.max(v, axis.low)) - Math.log(axis.low)) / (Math.log(axis.high) - Math.log(axis.low))
    : (v - axis.low) / (axis.high - axis.low);
  return axis.start + part * (axis.end - axis.start);
}

// The last of rising numbers that is not above a value, or the one after it where that is nearer.
function nearest(rising, value) {
  let low = 0, high = rising.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (rising[middle] <= value) low = middle;
    else high = middle - 1;
  }
  return low + 1 < rising.length && rising[low + 1] - value < value - rising[low] ? low + 1 : low;
}

function interactive(figure) {
  const { x, y, y2, lines } = JSON.parse(figure.dataset.chart);
  const svg = figure.querySelector(":scope > svg");
  const at = figure.querySelector(".at");
  const all = [...new Set(lines.flatMap((line) => line.points.map((point) => point[0])))].sort((a, b) => a - b);
  if (!all.length) return;
  const places = all.map((value) => place(x, value));
  const cross = document.createElementNS("http://www.w3.org/2000/svg", "line");
  cross.setAttribute("class", "cross");
  cross.setAttribute("y1", y.end);
  cross.setAttribute("y2", y.start);
  cross.style.display = "none";
  svg.append(cross);
  let index = -1;

  const names = [...figure.querySelectorAll(".legend [data-line]")].map((span) => {
    const button = document.createElement("button");
    button.type = "button";
    button.dataset.line = span.dataset.line;
    button.append(...span.childNodes);
    button.setAttribute("aria-pressed", "true");
    button.title = "Show or hide this line";
    button.addEventListener("click", () => {
      const shown = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(shown));
      for (const group of svg.querySelectorAll(`g[data-line="${button.dataset.line}"]`)) {
        if (shown) group.removeAttribute("display");
        else group.setAttribute("display", "none");
      }
    });
    span.replaceWith(button);
    return button;
  });

  function show(next) {
    index = next;
    const here = index < 0 ? null : all[index];
    cross.style.display = here === null ? "none" : "";
    at.textContent = here === null ? "" : `at ${told(x, here)}`;
    if (here !== null) for (const side of ["x1", "x2"]) cross.setAttribute(side, places[index]);
    names.forEach((button, number) => {
      const line = lines[number];
      // A line's value here, of one with points of its own the last before.
      const point = here === null ? undefined : line.points.findLast((one) => one[0] <= here);
      const value = point === undefined ? null : point[1];
      button.querySelector("b").textContent = value === null ? "" : told(line.right && y2 ? y2 : y, value);
    });
  }

  svg.setAttribute("tabindex", "0");
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    show(nearest(places, ((event.clientX - box.left) / box.width) * svg.viewBox.baseVal.width));
  });
  svg.addEventListener("pointerleave", () => show(-1));
  svg.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -20, PageDown: 20, Home: -Infinity, End: Infinity }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    show(Math.min(all.length - 1, Math.max(0, index + step)));
  });
}

for (const figure of document.querySelectorAll("figure[data-chart]")) interactive(figure);
