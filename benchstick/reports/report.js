
"use strict";

// Values under the pointer, a closer look at a part of x, lines that can be hidden, drawings that
// can be saved. The file is complete without this.

const few = (v) => (Math.abs(v) < 1000 ? String(Number(v.toPrecision(4))) : v.toFixed(0));
const plain = (v) => (Math.abs(v) < 10000 ? few(v) : Math.round(v).toLocaleString("en").replaceAll(",", "\u202f"));
const micros = (v) => (v >= 1e6 ? `${few(v / 1e6)} s` : v >= 1000 ? `${few(v / 1000)} ms` : `${few(v)} µs`);
const bytes = (v) => (v >= 2 ** 20 ? `${few(v / 2 ** 20)} MiB` : v >= 1024 ? `${few(v / 1024)} KiB` : `${v} B`);
const UNITS = { us: micros, B: bytes, C: (v) => `${few(v)} °C`, "B/s": (v) => `${plain(v)} MB/s`, s: (v) => `${plain(v)} s`, "%": (v) => `${few(v)} %` };
const clock = (v) => [Math.floor(v / 3600), Math.floor(v / 60) % 60, Math.floor(v) % 60]
  .map((part, at) => (at ? String(part).padStart(2, "0") : part)).join(":");
// Seconds of a long record are told as its ticks are.
const told = (axis, v) => (axis.unit === "s" && axis.long ? clock(v) : (UNITS[axis.unit] ?? ((n) => `${plain(n)} ${axis.unit}`.trim()))(v * axis.factor));

function place(axis, value) {
  const v = value * axis.factor;
  const part = axis.log
    ? (Math.log(Math.max(v, axis.low)) - Math.log(axis.low)) / (Math.log(axis.high) - Math.log(axis.low))
    : (v - axis.low) / (axis.high - axis.low);
  return axis.start + part * (axis.end - axis.start);
}

// The value, as it is shown, that has its place at a pixel: `place` backwards.
function valueAt(axis, at) {
  const part = (at - axis.start) / (axis.end - axis.start);
  return axis.log ? axis.low * (axis.high / axis.low) ** part : axis.low + part * (axis.high - axis.low);
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

// ---- a closer look: a part of the drawing's width is drawn as wide as the whole

// Ticks from `low` to `high`, about `most` of them: doublings of a log axis, clock times of a long
// record, else multiples of 1, 2 or 5.
const TIMES = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400];
function ticks(axis, low, high, most) {
  let found = (step) => Array.from({ length: Math.max(0, Math.floor(high / step + 1e-9) - Math.ceil(low / step - 1e-9) + 1) },
    (_, at) => Number(((Math.ceil(low / step - 1e-9) + at) * step).toPrecision(12)));
  if (axis.log) {
    const first = Math.ceil(Math.log2(low) - 1e-6), last = Math.floor(Math.log2(high) + 1e-6);
    const made = Array.from({ length: Math.max(0, last - first + 1) }, (_, at) => 2 ** (first + at));
    if (made.length > 1) return made.filter((_, at) => at % Math.ceil(made.length / most) === 0);
  }
  // Without a unit things are counted, as rounds: there is no half of one.
  const raw = Math.max((high - low) / Math.max(2, most), axis.unit ? 0 : 1);
  if (axis.unit === "s" && axis.long) return found(TIMES.find((time) => time >= raw) ?? 86400 * Math.ceil(raw / 86400));
  const power = 10 ** Math.floor(Math.log10(raw));
  return found([1, 2, 5, 10].map((part) => part * power).find((step) => step >= raw * 0.999999));
}

// Of a tick: as exact as a close look needs.
const tickText = (axis, v) => (["us", "B", "C", "%"].includes(axis.unit) || axis.long
  ? told({ ...axis, factor: 1 }, v) : `${Number(v.toPrecision(6))}${axis.unit === "s" ? " s" : ""}`);

// What an element was before the first look.
const wholes = new WeakMap();
function first(one, make) {
  if (!wholes.has(one)) wholes.set(one, make());
  return wholes.get(one);
}

const START = /([ML])(-?[\d.]+) /g;
const shifted = (path, move) => path.replace(START, (_, letter, at) => `${letter}${Number(move(Number(at)).toFixed(2))} `);

// A path whose places go where `move` puts them. A filled one without lines is of points with
// corners, which keep their form.
function remade(path, move) {
  const whole = first(path, () => path.getAttribute("d"));
  if (path.getAttribute("fill") === "none" || path.hasAttribute("fill-opacity")) return shifted(whole, move);
  return whole.split("Z").map((point) => {
    const found = [...point.matchAll(START)].map((one) => Number(one[2]));
    const middle = (Math.min(...found) + Math.max(...found)) / 2;
    return shifted(point, (at) => at + move(middle) - middle);
  }).join("Z");
}

// `look(from, to)` shows the pixels between those of the whole drawing.
function closer(svg, x, y, number) {
  const clip = element("clipPath", { id: `plot-${number}` },
    element("rect", { x: x.start - 3, y: y.end - 3, width: x.end - x.start + 6, height: y.start - y.end + 6 }));
  svg.append(clip);
  const axis = svg.querySelector('g[data-part="x"]');
  const own = axis ? [...axis.childNodes] : [];
  const [grid, dash, label] = axis ? axis.children : [];

  function tick(value, at) {
    const made = [grid, dash, label].map((one) => one.cloneNode(true));
    for (const path of made.slice(0, 2)) path.setAttribute("d", shifted(path.getAttribute("d"), () => at));
    made[2].setAttribute("x", at);
    made[2].textContent = tickText(x, value);
    return made;
  }

  // A mark's line, what stands behind it, and its name, which follows it and stays in the drawing.
  function mark(group, move) {
    let at = 0, here = true;
    for (const part of group.children) {
      if (part.nodeName === "text") {
        const [was, side] = first(part, () => ["x", "text-anchor"].map((name) => part.getAttribute(name)));
        const wide = part.getComputedTextLength();
        const flip = view.whole ? side === "end" : at + 4 + wide > x.end;
        part.setAttribute("x", view.whole ? was : at + (flip ? -4 : 4));
        part.setAttribute("text-anchor", flip ? "end" : "start");
      } else {
        const whole = first(part, () => part.getAttribute("d"));
        at = move(Number(whole.match(/^M(-?[\d.]+) /)[1]));
        here = view.whole || (at >= x.start - 0.5 && at <= x.end + 0.5);
        // What holds from a mark on holds at the edge, too.
        const inside = (one) => Math.min(x.end, Math.max(x.start, move(one)));
        part.setAttribute("d", shifted(whole, part.hasAttribute("fill-opacity") ? inside : move));
        if (part.hasAttribute("fill-opacity")) here = at <= x.end;
      }
      part.style.display = here ? "" : "none";
    }
  }

  const view = { from: x.start, to: x.end, whole: true };
  view.place = (at) => x.start + ((at - view.from) / (view.to - view.from)) * (x.end - x.start);
  view.back = (at) => view.from + ((at - x.start) / (x.end - x.start)) * (view.to - view.from);
  view.look = (from, to) => {
    // No closer than half a per mille of the whole.
    const least = (x.end - x.start) / 2000;
    const room = Math.max(least, Math.min(x.end - x.start, to - from));
    view.from = Math.min(x.end - room, Math.max(x.start, from + (to - from - room) / 2));
    view.to = view.from + room;
    view.whole = room > (x.end - x.start) * 0.9999;
    for (const group of svg.querySelectorAll("g[data-line]")) {
      if (view.whole) group.removeAttribute("clip-path");
      else group.setAttribute("clip-path", `url(#${clip.id})`);
      for (const path of group.querySelectorAll("path")) path.setAttribute("d", remade(path, view.place));
    }
    for (const group of svg.querySelectorAll('g[data-part="mark"]')) mark(group, view.place);
    if (!axis) return;
    const ends = [view.from, view.to].map((at) => valueAt(x, at));
    const found = ticks(x, ...ends, (x.end - x.start) / (x.log ? 44 : 64));
    axis.replaceChildren(...(view.whole ? own : found.flatMap((value) => tick(value, view.place(place({ ...x, factor: 1 }, value))))));
  };
  return view;
}

function interactive(figure, number) {
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
  const chosen = element("rect", { class: "cross chosen", y: y.end, height: y.start - y.end, visibility: "hidden" });
  svg.append(cross, chosen);
  x.long = x.unit === "s" && x.high > 7200;
  const view = closer(svg, x, y, number);
  let index = -1;

  const names = [...figure.querySelectorAll(".legend [data-line]")].map((span) => {
    const button = document.createElement("button");
    button.type = "button";
    Object.assign(button.dataset, span.dataset);
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
    if (here !== null) for (const side of ["x1", "x2"]) cross.setAttribute(side, view.place(places[index]));
    names.forEach((button, number) => {
      const line = lines[number];
      // A line's value here, of one with points of its own the last before.
      const point = here === null ? undefined : line.points.findLast((one) => one[0] <= here);
      const value = point === undefined ? null : point[1];
      button.querySelector("b").textContent = value === null ? "" : told(line.right && y2 ? y2 : y, value);
    });
  }

  const whole = document.createElement("button");
  whole.type = "button";
  whole.textContent = "Show the whole";
  whole.hidden = true;
  whole.addEventListener("click", () => look(x.start, x.end));
  const hint = document.createElement("span");
  hint.textContent = "Drag to zoom in, double-click to see the whole; or with the keyboard: arrows, + and −, 0.";
  figure.querySelector(".save").append(whole, hint);

  function look(from, to) {
    view.look(from, to);
    whole.hidden = view.whole;
    show(-1);
  }

  // Half as much, or twice as much, around the value that is told, else around the middle.
  function nearer(by) {
    const around = index < 0 ? (view.from + view.to) / 2 : places[index];
    const at = index;
    look(around - (around - view.from) * by, around + (view.to - around) * by);
    show(at);
  }

  // Where the pointer is, in the drawing as it is shown, within the plot.
  const under = (event) => {
    const box = svg.getBoundingClientRect();
    const at = ((event.clientX - box.left) / box.width) * svg.viewBox.baseVal.width;
    return Math.min(x.end, Math.max(x.start, at));
  };
  let begun = null;
  const drag = (to) => {
    chosen.setAttribute("x", Math.min(begun, to));
    chosen.setAttribute("width", Math.abs(to - begun));
    // What is less was meant as a click.
    const enough = Math.abs(to - begun) > 6;
    chosen.setAttribute("visibility", enough ? "visible" : "hidden");
    return enough;
  };
  svg.setAttribute("tabindex", "0");
  svg.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    begun = under(event);
    svg.setPointerCapture(event.pointerId);
  });
  svg.addEventListener("pointermove", (event) => {
    if (begun !== null) drag(under(event));
    show(nearest(places, view.back(under(event))));
  });
  svg.addEventListener("pointerup", (event) => {
    if (begun === null) return;
    const to = under(event), ends = [begun, to].sort((a, b) => a - b).map(view.back);
    if (drag(to)) look(...ends);
    begun = null;
    chosen.setAttribute("visibility", "hidden");
  });
  svg.addEventListener("pointercancel", () => {
    begun = null;
    chosen.setAttribute("visibility", "hidden");
  });
  svg.addEventListener("dblclick", () => look(x.start, x.end));
  svg.addEventListener("pointerleave", () => show(-1));
  svg.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const zoom = { "+": 0.5, "=": 0.5, "-": 2, "−": 2 }[event.key];
    const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -20, PageDown: 20, Home: -Infinity, End: Infinity }[event.key];
    if (zoom !== undefined) nearer(zoom);
    else if (event.key === "0" || event.key === "Escape") look(x.start, x.end);
    else if (step !== undefined) {
      // Of what is shown, the first and the last.
      const seen = places.flatMap((at, n) => (at >= view.from - 0.01 && at <= view.to + 0.01 ? [n] : []));
      if (seen.length) show(Math.min(seen.at(-1), Math.max(seen[0], index < 0 && step === -1 ? seen.at(-1) : index + step)));
    } else return;
    event.preventDefault();
  });
}

// ---- drawings as files

const FONT = "Helvetica, Arial, sans-serif";
const TITLE = 30, ROW = 18;

function element(name, attributes, ...inner) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...inner);
  return made;
}

// The drawing as it is shown now, with its title, the names of the lines that are not hidden, and
// white behind it.
function drawing(figure) {
  const shown = figure.querySelector(":scope > svg");
  const { width, height } = shown.viewBox.baseVal;
  const parts = [...shown.cloneNode(true).childNodes].filter((part) => !part.classList?.contains("cross"));
  const pen = document.createElement("canvas").getContext("2d");
  pen.font = `11px ${FONT}`;
  const names = [];
  let x = 14, y = TITLE + height + ROW - 6;
  for (const item of figure.querySelectorAll('.legend [data-line]:not([aria-pressed="false"])')) {
    const text = [...item.childNodes].filter((part) => part.nodeName === "#text").map((part) => part.data).join("").trim();
    const room = 50 + pen.measureText(text).width;
    if (x > 14 && x + room > width) { x = 14; y += ROW; }
    const swatch = item.querySelector("svg").cloneNode(true).childNodes;
    names.push(element("g", { transform: `translate(${x} ${y - 9})` }, ...swatch));
    names.push(element("text", { x: x + 34, y, fill: "#16191d" }, text));
    x += room;
  }
  const whole = names.length ? y + 8 : TITLE + height;
  const caption = figure.querySelector("figcaption").textContent;
  const title = element("text", { x: 2, y: 19, "font-size": 15, "font-weight": "bold", fill: "#16191d" }, caption);
  return element("svg", { width, height: whole, viewBox: `0 0 ${width} ${whole}`, "font-family": FONT, "font-size": 11 },
    element("rect", { width: "100%", height: "100%", fill: "#fff" }), title,
    element("g", { transform: `translate(0 ${TITLE})` }, ...parts), ...names);
}

function keep(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

const written = (svg) => new XMLSerializer().serializeToString(svg);
const FORMS = {
  svg: async (svg) => new Blob([written(svg)], { type: "image/svg+xml" }),
  // Twice as many pixels as the drawing has: sharp in a document.
  png: async (svg) => {
    const image = new Image();
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(written(svg))}`;
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = 2 * image.naturalWidth;
    canvas.height = 2 * image.naturalHeight;
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    return new Promise((done) => canvas.toBlob(done, "image/png"));
  },
};

document.querySelectorAll("figure").forEach((figure, number) => {
  const buttons = Object.entries(FORMS).map(([form, make]) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = form.toUpperCase();
    button.title = "Save this drawing";
    button.addEventListener("click", async () =>
      keep(await make(drawing(figure)), `${document.body.dataset.name}-drawing-${number + 1}.${form}`));
    return button;
  });
  const row = document.createElement("div");
  row.className = "save";
  row.append(...buttons);
  figure.append(row);
});

document.querySelectorAll("figure[data-chart]").forEach(interactive);

// ---- of a comparison: a button for each drive, which hides and shows its lines in all charts

const drives = new Set([...document.querySelectorAll("[data-drive]")].map((line) => line.dataset.drive));
if (drives.size > 1) {
  const row = document.createElement("div");
  row.className = "legend switches";
  row.setAttribute("role", "group");
  row.setAttribute("aria-label", "Lines of");
  for (const drive of drives) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = drive;
    button.setAttribute("aria-pressed", "true");
    button.addEventListener("click", () => {
      const shown = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(shown));
      for (const line of document.querySelectorAll("figure button[data-drive]")) {
        if (line.dataset.drive === drive && line.getAttribute("aria-pressed") !== String(shown)) line.click();
      }
      for (const marks of document.querySelectorAll("figure g[data-mark-of]")) {
        if (marks.dataset.markOf !== drive) continue;
        if (shown) marks.removeAttribute("display");
        else marks.setAttribute("display", "none");
      }
    });
    row.append(button);
  }
  document.querySelector("figure[data-chart]").before(row);
}
