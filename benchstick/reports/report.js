
"use strict";

// Values under the pointer, lines that can be hidden, drawings that can be saved. The file is
// complete without this.

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

for (const figure of document.querySelectorAll("figure[data-chart]")) interactive(figure);

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
