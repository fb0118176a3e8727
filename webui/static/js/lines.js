// The charts of a result, in the format of benchstick/suites/charts.py. The data is in the page.

import uPlot from "../vendor/uPlot.esm.js";
import { clock, colour, plain, TICKS, widthOf } from "./chart.js";
import { byKeyboard } from "./keys.js";

// The lines of one drive in a comparison have its colour and differ in this.
const DASHES = [undefined, [8, 4], [2, 3]];
// Single points are paler: opacity, appended to the six digits of a colour.
const PALER = ["", "73", "b3"];
const FONT = '12px system-ui, "DejaVu Sans", sans-serif';

const trimmed = (v) => String(Number(v.toPrecision(4)));
const bytes = (v) => (v >= 1 << 20 ? `${trimmed(v / (1 << 20))} MiB` : v >= 1024 ? `${trimmed(v / 1024)} KiB` : `${v} B`);
const micros = (v) => (v >= 1e6 ? `${trimmed(v / 1e6)} s` : v >= 1000 ? `${trimmed(v / 1000)} ms` : `${trimmed(v)} µs`);

// An axis of the document: how its values are drawn (`factor`), formatted and named. The axis needs a
// `label` only where its ticks have no unit.
function shownAxis({ label, unit, scale }) {
  const shown = { factor: 1, log: scale !== "linear", label: unit || label, tick: (v) => plain(v).replace(/\.0$/, ""), format: (v) => `${plain(v)} ${unit}`.trim() };
  if (unit === "B/s") return { ...shown, factor: 1e-6, label: "MB/s", format: (v) => `${plain(v)} MB/s` };
  if (unit === "us") return { ...shown, label: "", tick: micros, format: micros };
  if (unit === "B") return { ...shown, label: "", tick: bytes, format: bytes };
  if (unit === "°C") return { ...shown, label: "", tick: (v) => `${v} °C`, format: (v) => `${v} °C` };
  if (unit === "GB") return { ...shown, tick: (v) => plain(v).replace(/\.0$/, ""), format: (v) => `${trimmed(v)} GB` };
  if (unit === "%") return { ...shown, label: "", tick: (v) => `${trimmed(v)} %`, format: (v) => `${trimmed(v)} %` };
  if (!unit) return { ...shown, tick: trimmed, format: (v) => `${label} ${trimmed(v)}` };
  return shown;
}

// The ticks of a log axis: 1, 2 and 5 of each decade, or only the decades where these are too many.
function decades(low, high) {
  const ticks = [];
  for (let power = Math.floor(Math.log10(low)); 10 ** power <= high * 1.000001; power += 1) {
    for (const step of high / low > 2e3 ? [1] : [1, 2, 5]) {
      const value = Number((step * 10 ** power).toPrecision(3));
      if (value >= low * 0.999999 && value <= high * 1.000001) ticks.push(value);
    }
  }
  return ticks;
}

// The nearest of 1, 2, 5, 10, ... not above (side -1) or not below (side 1) a value.
function round125(value, side) {
  const power = 10 ** Math.floor(Math.log10(value));
  const steps = [1, 2, 5, 10].map((step) => Number((step * power).toPrecision(3)));
  return side < 0 ? steps.findLast((step) => step <= value * 1.000001) : steps.find((step) => step >= value * 0.999999);
}

function doublings(low, high, most) {
  const first = Math.ceil(Math.log2(low) - 1e-6), last = Math.floor(Math.log2(high) + 1e-6);
  const each = Math.max(1, Math.ceil((last - first + 1) / Math.max(1, most)));
  const ticks = [];
  for (let power = first; power <= last; power += each) ticks.push(2 ** power);
  return ticks;
}

class Lines {
  constructor(box, shared) {
    this.box = box;
    this.chart = JSON.parse(box.dataset.lines);
    this.lines = this.chart.series.map((item) => (typeof item === "string" ? shared.get(item) : item));
    this.looks = box.dataset.looks.split(" ");
    this.dashes = (box.dataset.dashes ?? "").split(" ").map(Number);
    // Lines, and marks of runs, that are switched off.
    this.off = new Set();
    this.runsOff = new Set();
    this.x = shownAxis(this.chart.x);
    this.y = shownAxis(this.chart.y);
    this.y2 = this.chart.y2 && shownAxis(this.chart.y2);
    if (this.chart.x.unit === "s") this.x = { ...this.x, label: "", ...this.seconds() };
    this.legend = box.nextElementSibling;
    this.whole = box.parentElement.querySelector("[data-whole]");
    this.whole.addEventListener("click", () => this.reset());
    this.data = this.columns();
    this.rows = Math.min(3, (this.chart.marks ?? []).length + (this.chart.mark_above ? 1 : 0));
    new ResizeObserver(() => this.resize()).observe(box);
    for (const query of ["(prefers-color-scheme: dark)", "print"]) {
      matchMedia(query).addEventListener("change", () => this.draw());
    }
    this.draw();
    byKeyboard(box, this);
  }

  shows(row) {
    return this.places.some(({ at }, n) => !this.off.has(n) && this.data[at][row] != null);
  }

  describe() {
    const values = [...this.legend.querySelectorAll("span:not(.off):not(.at)")].filter((one) => one.querySelector("b").textContent !== "");
    return `${this.legend.querySelector(".at").textContent}: ${values.map((one) => one.textContent.trim()).join(", ")}`;
  }

  span() {
    const { min, max } = this.plot.scales.x;
    return `from ${this.x.format(min)} to ${this.x.format(max)}`;
  }

  // Seconds as they are, or as h:mm:ss where there are many.
  seconds() {
    const many = (this.chart.to ?? Math.max(...this.lines.map((line) => line.points.at(-1)?.[0] ?? 0))) > 7200;
    const format = many ? clock : (v) => `${Number(v.toFixed(1))} s`;
    return { tick: format, format };
  }

  axisOf(line) {
    return line.on === "y2" && this.y2 ? this.y2 : this.y;
  }

  // uPlot takes one row of x and each line's values at all of them: undefined where a line has no
  // point, null where it is broken. A line with a band is followed by its maximum and its minimum.
  columns() {
    const { from = -Infinity, to = Infinity } = this.chart;
    const rows = new Map();
    let width = 0;
    this.places = this.lines.map((line) => {
      const at = width;
      const { factor } = this.axisOf(line);
      const banded = Boolean(line.low && line.high);
      line.points.forEach(([x, y], n) => {
        if (x < from || x > to) return;
        if (!rows.has(x)) rows.set(x, []);
        const values = banded ? [y, line.high[n], line.low[n]] : [y];
        values.forEach((value, more) => (rows.get(x)[at + more] = value === null ? null : value * factor));
      });
      width += banded ? 3 : 1;
      return { at: at + 1, banded };
    });
    const x = [...rows.keys()].sort((a, b) => a - b);
    return [x, ...Array.from({ length: width }, (_, column) => x.map((at) => rows.get(at)[column]))];
  }

  draw() {
    this.plot?.destroy();
    this.marks = [];
    this.plot = new uPlot(this.options(), this.data, this.box);
  }

  // Line `n` on or off; the axis fits the lines that are on.
  switch(n, on) {
    if (on) this.off.delete(n);
    else this.off.add(n);
    const { at, banded } = this.places[n];
    for (let more = 0; more < (banded ? 3 : 1); more += 1) this.plot.setSeries(at + more, { show: on });
  }

  switchMarks(run, on) {
    if (on) this.runsOff.delete(run);
    else this.runsOff.add(run);
    this.place(this.plot);
  }

  reset() {
    const x = this.data[0];
    this.plot.setScale("x", { min: x[0], max: x.at(-1) });
  }

  height() {
    return this.box.clientWidth < 480 ? 230 : 280;
  }

  resize() {
    if (this.box.clientWidth) this.plot.setSize({ width: widthOf(this.box), height: this.height() });
  }

  // The full range of x, with some room where points lie at its ends.
  ends() {
    const x = this.data[0];
    const low = this.chart.from ?? x[0], high = this.chart.to ?? x.at(-1);
    if (this.x.log) return [low / 1.12, high * 1.12];
    const room = this.chart.from === undefined || this.chart.dots ? (high - low) * 0.01 : 0;
    return [low - room, high + room];
  }

  rangeX(min, max) {
    const x = this.data[0];
    return min === x[0] && max === x.at(-1) ? this.ends() : [min, max];
  }

  rangeY(min, max) {
    if (!this.y.log) return [0, Math.max(this.y.factor, max ?? 1) * 1.08];
    if (min == null || max == null || max <= 0) return [1, 10];
    const low = round125(min * 0.97, -1), high = round125(max * 1.03, 1);
    // Less than a decade makes noise look like a drop.
    return high / low >= 10 ? [low, high] : [round125(low / 2, -1), round125(high * 2, 1)];
  }

  axes() {
    const line = colour("--line");
    const base = { stroke: colour("--dim"), font: FONT, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1, size: 4 } };
    const named = (axis) => (axis.label ? { label: axis.label, labelSize: 18, labelFont: FONT } : {});
    const ticks = (axis) => ({ values: (_, found) => found.map((v) => (v == null ? "" : axis.tick(v))) });
    const x = { ...base, ...ticks(this.x), ...named(this.x), space: this.chart.x.unit === "s" ? 70 : 60, size: 32 };
    if (this.x.log) Object.assign(x, { splits: (u, _, low, high) => doublings(low, high, u.bbox.width / devicePixelRatio / (this.chart.x.unit ? 58 : 36)), filter: (_, found) => found });
    else if (this.chart.x.unit === "s" && this.x.tick === clock) x.incrs = TICKS;
    // Without a unit the values are counts, e.g. rounds: only whole numbers.
    else if (!this.chart.x.unit) x.incrs = TICKS.map((_, at) => [1, 2, 5][at % 3] * 10 ** Math.floor(at / 3));
    const y = { ...base, ...ticks(this.y), ...named(this.y), size: (_, found) => 16 + 7 * Math.max(2, ...(found ?? []).map((text) => text.length)) };
    if (this.y.log) Object.assign(y, { splits: (_, __, low, high) => decades(low, high), filter: (_, found) => found });
    const axes = [x, y];
    if (this.y2) axes.push({ ...base, ...ticks(this.y2), scale: "y2", side: 1, grid: { show: false }, size: 54 });
    return axes;
  }

  series() {
    const series = [{}], bands = [];
    this.lines.forEach((line, n) => {
      const stroke = colour(`--${this.looks[n]}`);
      const scale = line.on === "y2" && this.y2 ? "y2" : "y";
      const show = !this.off.has(n);
      const one = { label: line.name, scale, stroke, width: 1.6, spanGaps: false, show, dash: DASHES[this.dashes[n] % DASHES.length] };
      if (scale === "y2") Object.assign(one, { width: 1, dash: [2, 4], points: { show: true, size: 7, fill: stroke } });
      else if (this.chart.dots) Object.assign(one, { paths: () => null, points: { show: true, size: line.points.length > 300 ? 3 : 5, width: 0, fill: `${stroke}${PALER[this.dashes[n] % PALER.length] ?? ""}` } });
      // Few points are single measurements; many are a record, drawn as a line.
      else one.points = { show: !line.guide && line.points.length <= 64, size: 5, fill: stroke };
      series.push(one);
      if (this.places[n].banded) {
        bands.push({ series: [series.length, series.length + 1], fill: `${stroke}38` });
        for (const end of ["highest", "lowest"]) series.push({ label: `${line.name}, ${end}`, scale, show, width: 0, stroke: "transparent", points: { show: false } });
      }
    });
    return { series, bands };
  }

  options() {
    // A log axis draws 0 at its lower edge.
    const log = (base) => ({ distr: 3, log: base, clamp: (_, __, low) => low });
    const scales = {
      x: { time: false, ...(this.x.log ? log(2) : {}), range: (_, min, max) => this.rangeX(min, max) },
      y: { ...(this.y.log ? log(10) : {}), range: (_, min, max) => this.rangeY(min, max) },
    };
    if (this.y2) scales.y2 = { range: (_, low, high) => (high == null ? [20, 60] : [Math.min(20, Math.floor(low / 10) * 10), Math.max(60, Math.ceil((high + 5) / 10) * 10)]) };
    return {
      width: widthOf(this.box),
      height: this.height(),
      legend: { show: false },
      cursor: { drag: { x: true, y: false, dist: 6 }, points: { size: 7 } },
      scales,
      axes: this.axes(),
      // Room for the labels of marks, over the drawing.
      padding: [this.rows ? 6 + 19 * this.rows : null, null, null, null],
      ...this.series(),
      hooks: { setCursor: [(plot) => this.showValues(plot)], draw: [(plot) => this.place(plot)] },
    };
  }

  // Marks are elements over the drawing: they take the page's colours, also in print.
  place(plot) {
    if (!this.marks.length) this.marks = this.makeMarks(plot);
    const { min, max } = plot.scales.x;
    const [low, high] = this.ends();
    this.whole.hidden = Math.abs(min - low) + Math.abs(max - high) < (high - low) * 1e-6;
    const width = plot.over.clientWidth;
    const ends = [];
    for (const { element, label, x, above, run } of this.marks) {
      element.hidden = this.runsOff.has(String(run)) || (above ? x >= max : x < min || x > max);
      if (element.hidden) continue;
      const left = Math.max(0, plot.valToPos(x, "x"));
      element.style.left = `${left}px`;
      if (above) element.style.width = `${width - left}px`;
      label.style.maxWidth = `${width - 8}px`;
      const room = label.offsetWidth + 8;
      // Left of its place where there is no room on the right; never beyond the drawing.
      const flip = left + room > width;
      const start = flip ? Math.max(0, left - room) : left;
      label.style.left = `${start - left + (flip ? 2 : 4)}px`;
      // On the first row where it covers no other label.
      const row = [...ends.keys(), ends.length].find((at) => !(ends[at] > start));
      ends[row] = start + room;
      label.style.top = `${-19 * (Math.min(row, this.rows - 1) + 1)}px`;
    }
  }

  makeMarks(plot) {
    const { marks = [], mark_above: above } = this.chart;
    const all = [...(above ? [{ ...above, above: true }] : []), ...marks];
    return all.map((mark) => {
      const element = document.createElement("div");
      element.className = mark.above ? "mark above" : "mark";
      const label = element.appendChild(document.createElement("span"));
      label.textContent = mark.label;
      plot.over.append(element);
      return { ...mark, element, label };
    });
  }

  // The values under the pointer, next to the names.
  showValues(plot) {
    const at = plot.cursor.idx;
    this.legend.querySelectorAll("b").forEach((b, n) => {
      b.textContent = at == null ? "" : this.value(plot, n, at);
    });
    this.legend.querySelector(".at").textContent = at == null ? "" : `at ${this.x.format(this.data[0][at])}`;
  }

  // A line's value at a row, or the last one before it.
  value(plot, n, row) {
    const { at, banded } = this.places[n];
    const axis = this.axisOf(this.lines[n]);
    const column = this.data[at];
    let last = row;
    while (last > 0 && column[last] === undefined) last -= 1;
    if (column[last] == null) return "";
    const value = axis.format(column[last]);
    return banded ? `${value} (${axis.tick(this.data[at + 2][last])} to ${axis.tick(this.data[at + 1][last])})` : value;
  }
}

const charts = document.getElementById("charts");
if (charts) {
  const shared = new Map(JSON.parse(charts.dataset.shared).map((line) => [line.name, line]));
  for (const box of charts.querySelectorAll("[data-lines]")) box.lines = new Lines(box, shared);
}
