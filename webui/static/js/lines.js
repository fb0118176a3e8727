// The charts of a result, in the format of benchstick/suites/charts.py. The data is in the page.

import uPlot from "../vendor/uPlot.esm.js";
import { clock, colour, plain, TICKS, widthOf } from "./chart.js";
import { byKeyboard } from "./keys.js";

// The lines of one drive in a comparison have its colour and differ in this.
const DASHES = [undefined, [8, 4], [2, 3]];
// Single points are paler: opacity, appended to the six digits of a colour.
const PALER = ["", "73", "b3"];
const FONT = '12px system-ui, "DejaVu Sans", sans-serif';

const round4 = (v) => String(Number(v.toPrecision(4)));
const formatBytes = (v) => (v >= 1 << 20 ? `${round4(v / (1 << 20))} MiB` : v >= 1024 ? `${round4(v / 1024)} KiB` : `${v} B`);
const formatMicros = (v) => (v >= 1e6 ? `${round4(v / 1e6)} s` : v >= 1000 ? `${round4(v / 1000)} ms` : `${round4(v)} µs`);

// An axis of the document: how its values are drawn (`factor`), formatted and named. The axis needs a
// `label` only where its ticks have no unit.
function describeAxis({ label, unit, scale }) {
  const axis = { factor: 1, log: scale !== "linear", label: unit || label, tick: (v) => plain(v).replace(/\.0$/, ""), format: (v) => `${plain(v)} ${unit}`.trim() };
  if (unit === "B/s") return { ...axis, factor: 1e-6, label: "MB/s", format: (v) => `${plain(v)} MB/s` };
  if (unit === "us") return { ...axis, label: "", tick: formatMicros, format: formatMicros };
  if (unit === "B") return { ...axis, label: "", tick: formatBytes, format: formatBytes };
  if (unit === "°C") return { ...axis, label: "", tick: (v) => `${v} °C`, format: (v) => `${v} °C` };
  if (unit === "GB") return { ...axis, tick: (v) => plain(v).replace(/\.0$/, ""), format: (v) => `${round4(v)} GB` };
  if (unit === "%") return { ...axis, label: "", tick: (v) => `${round4(v)} %`, format: (v) => `${round4(v)} %` };
  if (!unit) return { ...axis, tick: round4, format: (v) => `${label} ${round4(v)}` };
  return axis;
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

function doublings(low, high, maxCount) {
  const first = Math.ceil(Math.log2(low) - 1e-6), last = Math.floor(Math.log2(high) + 1e-6);
  const each = Math.max(1, Math.ceil((last - first + 1) / Math.max(1, maxCount)));
  const ticks = [];
  for (let power = first; power <= last; power += each) ticks.push(2 ** power);
  return ticks;
}

class Lines {
  constructor(box, sharedLines) {
    this.box = box;
    this.chart = JSON.parse(box.dataset.lines);
    this.lines = this.chart.series.map((item) => (typeof item === "string" ? sharedLines.get(item) : item));
    this.looks = box.dataset.looks.split(" ");
    this.dashes = (box.dataset.dashes ?? "").split(" ").map(Number);
    // Lines, and marks of runs, that are switched off.
    this.hiddenLines = new Set();
    this.hiddenRuns = new Set();
    this.x = describeAxis(this.chart.x);
    this.y = describeAxis(this.chart.y);
    this.y2 = this.chart.y2 && describeAxis(this.chart.y2);
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
    return this.places.some(({ column }, n) => !this.hiddenLines.has(n) && this.data[column][row] != null);
  }

  describe() {
    const values = [...this.legend.querySelectorAll("span:not(.off):not(.at)")].filter((item) => item.querySelector("b").textContent !== "");
    return `${this.legend.querySelector(".at").textContent}: ${values.map((item) => item.textContent.trim()).join(", ")}`;
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
      const first = width;
      const { factor } = this.axisOf(line);
      const hasBand = Boolean(line.low && line.high);
      line.points.forEach(([x, y], n) => {
        if (x < from || x > to) return;
        if (!rows.has(x)) rows.set(x, []);
        const values = hasBand ? [y, line.high[n], line.low[n]] : [y];
        values.forEach((value, index) => (rows.get(x)[first + index] = value === null ? null : value * factor));
      });
      width += hasBand ? 3 : 1;
      return { column: first + 1, hasBand };
    });
    const x = [...rows.keys()].sort((a, b) => a - b);
    return [x, ...Array.from({ length: width }, (_, column) => x.map((value) => rows.get(value)[column]))];
  }

  draw() {
    this.plot?.destroy();
    this.marks = [];
    this.plot = new uPlot(this.options(), this.data, this.box);
  }

  // Line `n` on or off; the axis fits the lines that are on.
  switch(n, isOn) {
    if (isOn) this.hiddenLines.delete(n);
    else this.hiddenLines.add(n);
    const { column, hasBand } = this.places[n];
    for (let index = 0; index < (hasBand ? 3 : 1); index += 1) this.plot.setSeries(column + index, { show: isOn });
  }

  switchMarks(run, isOn) {
    if (isOn) this.hiddenRuns.delete(run);
    else this.hiddenRuns.add(run);
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
    const labelOf = (axis) => (axis.label ? { label: axis.label, labelSize: 18, labelFont: FONT } : {});
    const ticks = (axis) => ({ values: (_, splits) => splits.map((v) => (v == null ? "" : axis.tick(v))) });
    const x = { ...base, ...ticks(this.x), ...labelOf(this.x), space: this.chart.x.unit === "s" ? 70 : 60, size: 32 };
    if (this.x.log) Object.assign(x, { splits: (u, _, low, high) => doublings(low, high, u.bbox.width / devicePixelRatio / (this.chart.x.unit ? 58 : 36)), filter: (_, splits) => splits });
    else if (this.chart.x.unit === "s" && this.x.tick === clock) x.incrs = TICKS;
    // Without a unit the values are counts, e.g. rounds: only whole numbers.
    else if (!this.chart.x.unit) x.incrs = TICKS.map((_, index) => [1, 2, 5][index % 3] * 10 ** Math.floor(index / 3));
    const y = { ...base, ...ticks(this.y), ...labelOf(this.y), size: (_, labels) => 16 + 7 * Math.max(2, ...(labels ?? []).map((text) => text.length)) };
    if (this.y.log) Object.assign(y, { splits: (_, __, low, high) => decades(low, high), filter: (_, splits) => splits });
    const axes = [x, y];
    if (this.y2) axes.push({ ...base, ...ticks(this.y2), scale: "y2", side: 1, grid: { show: false }, size: 54 });
    return axes;
  }

  series() {
    const series = [{}], bands = [];
    this.lines.forEach((line, n) => {
      const stroke = colour(`--${this.looks[n]}`);
      const scale = line.on === "y2" && this.y2 ? "y2" : "y";
      const show = !this.hiddenLines.has(n);
      const options = { label: line.name, scale, stroke, width: 1.6, spanGaps: false, show, dash: DASHES[this.dashes[n] % DASHES.length] };
      if (scale === "y2") Object.assign(options, { width: 1, dash: [2, 4], points: { show: true, size: 7, fill: stroke } });
      else if (this.chart.dots) Object.assign(options, { paths: () => null, points: { show: true, size: line.points.length > 300 ? 3 : 5, width: 0, fill: `${stroke}${PALER[this.dashes[n] % PALER.length] ?? ""}` } });
      // Few points are single measurements; many are a record, drawn as a line.
      else options.points = { show: !line.guide && line.points.length <= 64, size: 5, fill: stroke };
      series.push(options);
      if (this.places[n].hasBand) {
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
      element.hidden = this.hiddenRuns.has(String(run)) || (above ? x >= max : x < min || x > max);
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
      const row = [...ends.keys(), ends.length].find((index) => !(ends[index] > start));
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
    const row = plot.cursor.idx;
    this.legend.querySelectorAll("b").forEach((b, n) => {
      b.textContent = row == null ? "" : this.value(plot, n, row);
    });
    this.legend.querySelector(".at").textContent = row == null ? "" : `at ${this.x.format(this.data[0][row])}`;
  }

  // A line's value at a row, or the last one before it.
  value(plot, n, row) {
    const { column, hasBand } = this.places[n];
    const axis = this.axisOf(this.lines[n]);
    const values = this.data[column];
    let last = row;
    while (last > 0 && values[last] === undefined) last -= 1;
    if (values[last] == null) return "";
    const value = axis.format(values[last]);
    return hasBand ? `${value} (${axis.tick(this.data[column + 2][last])} to ${axis.tick(this.data[column + 1][last])})` : value;
  }
}

const charts = document.getElementById("charts");
if (charts) {
  const sharedLines = new Map(JSON.parse(charts.dataset.shared).map((line) => [line.name, line]));
  for (const box of charts.querySelectorAll("[data-lines]")) box.lines = new Lines(box, sharedLines);
}
