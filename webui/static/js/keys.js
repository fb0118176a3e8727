// A chart by keyboard: the arrows move the crosshair, + and - zoom around it, 0 and Escape show the
// whole. What stands at the crosshair is told to those who listen as well.

const HINT = "Arrow keys move the crosshair, Page up and Page down by a tenth, plus and minus zoom, 0 shows the whole.";

// `chart` has: `plot`, uPlot's; `ends()`, the whole of x; `shows(row)`, whether a row of the data
// has something to tell; `told()`, the text of the legend; `reset()`.
export function byKeyboard(box, chart) {
  box.tabIndex = 0;
  // An image takes no keys, and a screen reader keeps the arrows for itself.
  box.setAttribute("role", "application");
  box.setAttribute("aria-roledescription", "chart");
  box.setAttribute("aria-label", `${box.getAttribute("aria-label")}. ${HINT}`);
  const said = document.createElement("div");
  said.className = "sr";
  said.setAttribute("aria-live", "polite");
  box.parentElement.append(said);
  let row = -1;

  const rows = () => chart.plot.data[0];
  const width = () => chart.plot.over.clientWidth;

  function show(left, right) {
    const [low, high] = chart.ends();
    if (left <= low && right >= high) chart.reset();
    else chart.plot.setScale("x", { min: Math.max(low, left), max: Math.min(high, right) });
  }

  function point() {
    const { plot } = chart;
    plot.setCursor({ left: Math.min(width(), Math.max(0, plot.valToPos(rows()[row], "x"))), top: plot.over.clientHeight / 2 });
  }

  // After uPlot has drawn what it was told to: it does so in a task of its own.
  const later = (act) => queueMicrotask(act);

  function move(step) {
    const x = rows(), last = x.length - 1;
    const { min, max } = chart.plot.scales.x;
    if (row < 0 || row > last) row = step > 0 ? x.findIndex((at) => at >= min) - 1 : x.findLastIndex((at) => at <= max) + 1;
    const way = Math.sign(step);
    let next = Math.min(last, Math.max(0, row + step));
    while (next >= 0 && next <= last && !chart.shows(next)) next += way;
    if (next < 0 || next > last) return;
    row = next;
    const { plot } = chart;
    const place = plot.valToPos(x[row], "x");
    const off = place < 0 ? place - width() / 10 : place > width() ? place - 0.9 * width() : 0;
    if (off) show(plot.posToVal(off, "x"), plot.posToVal(off + width(), "x"));
    later(() => {
      point();
      said.textContent = chart.told();
    });
  }

  function zoom(factor) {
    const { plot } = chart, x = rows();
    const at = row < 0 ? width() / 2 : Math.min(width(), Math.max(0, plot.valToPos(x[row], "x")));
    const left = plot.posToVal(at - at * factor, "x"), right = plot.posToVal(at + (width() - at) * factor, "x");
    // Closer than a few points there is nothing more to see.
    if (factor < 1 && x.filter((one) => one >= left && one <= right).length < 4) return;
    show(left, right);
    later(() => {
      if (row >= 0) point();
      said.textContent = chart.span();
    });
  }

  const acts = {
    ArrowLeft: () => move(-1), ArrowRight: () => move(1),
    PageUp: () => move(-Math.ceil(rows().length / 10)), PageDown: () => move(Math.ceil(rows().length / 10)),
    Home: () => { row = -1; move(1); }, End: () => { row = -1; move(-1); },
    "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), _: () => zoom(2),
    0: () => reset(), Escape: () => reset(),
  };

  function reset() {
    chart.reset();
    later(() => {
      if (row >= 0) point();
      said.textContent = chart.span();
    });
  }

  box.addEventListener("keydown", (event) => {
    const act = acts[event.key];
    if (!act || event.ctrlKey || event.altKey || event.metaKey || !chart.plot) return;
    event.preventDefault();
    act();
  });
  // Where the pointer was last is where the keys go on.
  box.addEventListener("pointermove", () => { row = chart.plot?.cursor.idx ?? row; });
  box.addEventListener("blur", () => chart.plot?.setCursor({ left: -10, top: -10 }));
}
