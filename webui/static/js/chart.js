// One chart over a whole session: throughput (or IOPS, or requests in flight) by second, and the
// temperatures read while idle as points on their own axis.

import uPlot from "../vendor/uPlot.esm.js";
import { byKeyboard } from "./keys.js";

const QUANTITIES = {
  mbps: { label: "MB/s", read: (s) => s.read_bytes / s.dt / 1e6, write: (s) => s.write_bytes / s.dt / 1e6 },
  iops: { label: "IOPS", read: (s) => s.reads / s.dt, write: (s) => s.writes / s.dt },
  inflight: { label: "requests in flight", read: (s) => s.inflight, write: () => null },
};

export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// How wide a chart is drawn in its box: on paper, whose layout comes later, no wider than A4.
export const widthOf = (box) => (matchMedia("print").matches ? Math.min(box.clientWidth, 700) : box.clientWidth);

export const clock = (t) => {
  const whole = Math.round(t), hours = Math.floor(whole / 3600);
  const rest = `${String(Math.floor((whole % 3600) / 60)).padStart(hours ? 2 : 1, "0")}:${String(whole % 60).padStart(2, "0")}`;
  return hours ? `${hours}:${rest}` : rest;
};

export const plain = (v) => (v == null ? "" : v >= 10000 ? Math.round(v).toLocaleString("en").replaceAll(",", "\u202f") : v >= 100 ? v.toFixed(0) : v.toFixed(1));

// Seconds between the ticks of the time axis: whole ones, as the labels are.
export const TICKS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400];

export class SessionChart {
  // `timedSteps`: indexes of the steps that yield results; elsewhere a second without I/O is a gap.
  // `passes`: for each pass of a file set the index of its first step, the set, the pass, and its
  // start time, null before it starts.
  constructor(box, timedSteps, passes, outputs) {
    this.box = box;
    this.timedSteps = timedSteps;
    this.passes = passes.map(([step, set, number, t]) => ({ step, set, number, t }));
    this.outputs = outputs;
    this.samples = [];
    this.temperatures = [];
    this.show = "mbps";
    this.plot = null;
    this.whole = box.closest("section").querySelector("[data-whole]");
    this.whole.addEventListener("click", () => this.reset());
    byKeyboard(box, this);
    new ResizeObserver(() => this.resize()).observe(box);
    for (const query of ["(prefers-color-scheme: dark)", "print"]) {
      matchMedia(query).addEventListener("change", () => this.draw(true));
    }
  }

  // `hasMore`: further samples follow; the chart is drawn after the last ones.
  add(samples, temperatures, hasMore) {
    this.samples.push(...samples);
    this.temperatures = temperatures.filter((item) => item.celsius !== null);
    if (!hasMore) this.draw(false);
  }

  // The steps that started since the last call.
  mark(steps) {
    for (const step of steps) {
      const pass = this.passes.find((item) => item.step === step.step_index);
      if (pass) pass.t = step.t_start;
    }
  }

  choose(show) {
    this.show = show;
    this.draw(true);
  }

  data() {
    const { read, write } = QUANTITIES[this.show];
    const reader = (value, counter) => (s) => (s.dt && (s[counter] || (this.timedSteps.has(s.step_index) && !s.read_bytes && !s.write_bytes)) ? value(s) : null);
    const values = [reader(read, this.show === "inflight" ? "inflight" : "read_bytes"), reader(write, "write_bytes")];
    const rows = [];
    let last = { t: -Infinity, row: [null, null] };
    for (const s of this.samples) {
      const row = values.map((read) => read(s));
      // A sample covers the second before it: a single one is a line of that length, not a dot.
      const starts = row.map((v, index) => (v !== null && last.row[index] === null ? v : undefined));
      if (starts.some((v) => v !== undefined)) rows.push([Math.max(s.t - s.dt, last.t + 0.01), ...starts, null]);
      rows.push([s.t, ...row, null]);
      last = { t: s.t, row };
    }
    for (const item of this.temperatures) rows.push([item.t, undefined, undefined, item.celsius]);
    rows.sort((a, b) => a[0] - b[0]);
    // A temperature between two samples is no gap in the speed: undefined, not null.
    return [0, 1, 2, 3].map((column) => rows.map((row) => row[column]));
  }

  draw(isNew) {
    const data = this.data();
    // New samples do not change the zoom.
    const zoom = this.plot && this.isZoomed() ? { min: this.plot.scales.x.min, max: this.plot.scales.x.max } : null;
    if (isNew && this.plot) {
      this.plot.destroy();
      this.plot = null;
    }
    if (!data[0].length) return;
    if (this.plot) this.plot.setData(data, zoom === null);
    else this.plot = new uPlot(this.options(), data, this.box);
    if (zoom) this.plot.setScale("x", zoom);
  }

  // The full range of x; the visible range as text; whether the chart is zoomed in.
  ends() {
    const x = this.plot.data[0];
    return [x[0], x.at(-1)];
  }

  span() {
    const { min, max } = this.plot.scales.x;
    return `from ${clock(min)} to ${clock(max)}`;
  }

  isZoomed() {
    const { min, max } = this.plot.scales.x;
    const [low, high] = this.ends();
    return min > low + 1e-6 || max < high - 1e-6;
  }

  reset() {
    const [min, max] = this.ends();
    this.plot.setScale("x", { min, max });
  }

  shows(row) {
    return this.plot.data.some((column, n) => n > 0 && column[row] != null);
  }

  describe() {
    const { label } = QUANTITIES[this.show];
    const names = this.show === "inflight" ? [["read", "", label]] : [["read", "read", label], ["write", "write", label]];
    const values = [...names, ["temp", "temperature", ""]]
      .map(([part, name, unit]) => [name, this.outputs[part].textContent, unit])
      .filter(([, text]) => text !== "");
    return `${this.outputs.time.textContent}: ${values.map((parts) => parts.join(" ").trim()).join(", ")}`;
  }

  // A line at the start of each pass, with its number; the set's name above its first pass.
  place(plot) {
    this.whole.hidden = !this.isZoomed();
    for (const mark of plot.over.querySelectorAll(".pass")) mark.remove();
    const { min, max } = plot.scales.x;
    const ends = [-Infinity, -Infinity];
    let set = null;
    for (const pass of this.passes) {
      const first = pass.set !== set;
      set = pass.set;
      if (pass.t === null || pass.t < min || pass.t > max) continue;
      const left = plot.valToPos(pass.t, "x");
      const element = document.createElement("div");
      element.className = first ? "mark pass first" : "mark pass";
      element.style.left = `${left}px`;
      plot.over.append(element);
      // Set names and numbers have a row each; labels do not overlap.
      for (const [row, text] of [[0, String(pass.number)], ...(first ? [[1, pass.set]] : [])]) {
        const label = element.appendChild(document.createElement("span"));
        label.textContent = text;
        label.style.top = `${-19 * (row + 1)}px`;
        const room = label.offsetWidth + 6;
        if (left < ends[row] || left + room > plot.over.clientWidth) label.remove();
        else ends[row] = left + room;
      }
    }
  }

  resize() {
    if (this.plot && this.box.clientWidth) this.plot.setSize({ width: widthOf(this.box), height: this.height() });
  }

  height() {
    return this.box.clientWidth < 600 ? 220 : 280;
  }

  options() {
    const dim = colour("--dim"), line = colour("--line");
    const font = '12px system-ui, "DejaVu Sans", sans-serif';
    const axis = { stroke: dim, font, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1, size: 4 } };
    const isNarrow = this.box.clientWidth < 600;
    return {
      width: widthOf(this.box),
      height: this.height(),
      legend: { show: false },
      cursor: { drag: { x: true, y: false }, points: { size: 7 } },
      scales: {
        x: { time: false },
        y: { range: (_, low, high) => [0, Math.max(1, high ?? 1) * 1.08] },
        temp: { range: (_, low, high) => (high == null ? [20, 60] : [Math.min(20, Math.floor(low / 10) * 10), Math.max(60, Math.ceil((high + 5) / 10) * 10)]) },
      },
      axes: [
        { ...axis, values: (_, ticks) => ticks.map(clock), incrs: TICKS, space: 70, size: 32 },
        { ...axis, values: (_, ticks) => ticks.map((v) => plain(v).replace(/\.0$/, "")), size: isNarrow ? 46 : 58, label: isNarrow ? undefined : QUANTITIES[this.show].label, labelSize: 18, labelFont: font },
        { ...axis, scale: "temp", side: 1, grid: { show: false }, size: isNarrow ? 50 : 54, values: (_, ticks) => ticks.map((v) => `${v} °C`), show: this.temperatures.length > 0 },
      ],
      series: [
        {},
        { label: "read", stroke: colour("--read"), width: 1.6, spanGaps: false, points: { show: false } },
        { label: "write", stroke: colour("--write"), width: 1.6, spanGaps: false, points: { show: false } },
        { label: "temperature", scale: "temp", stroke: colour("--temp"), width: 1, dash: [2, 4], spanGaps: true, points: { show: true, size: 7, fill: colour("--temp"), stroke: colour("--temp") } },
      ],
      padding: [this.passes.length ? 44 : null, null, null, null],
      hooks: { setCursor: [(plot) => this.showValues(plot)], draw: [(plot) => this.place(plot)] },
    };
  }

  // The values under the pointer, next to the legend.
  showValues(plot) {
    const index = plot.cursor.idx;
    const [t, read, write, temp] = index == null ? [null, null, null, null] : plot.data.map((column) => column[index]);
    this.outputs.time.textContent = t == null ? "" : `at ${clock(t)}`;
    this.outputs.read.textContent = plain(read);
    this.outputs.write.textContent = plain(write);
    this.outputs.temp.textContent = temp == null ? "" : `${temp} °C`;
  }
}
