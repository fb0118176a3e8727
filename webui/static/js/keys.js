// Keyboard control of a chart: the arrows move the crosshair, + and - zoom around it, 0 and Escape
// reset the zoom. Screen readers speak the values at the crosshair.

const HINT = "Arrow keys move the crosshair, Page up and Page down by a tenth, plus and minus zoom, 0 resets the zoom.";

// `chart` has: `plot`, uPlot's; `ends()`, the full range of x; `shows(row)`, whether a row of the data
// has a visible value; `describe()`, the text of the legend; `reset()`.
export function byKeyboard(box, chart) {
  box.tabIndex = 0;
  // An image takes no keys, and a screen reader uses the arrows itself.
  box.setAttribute("role", "application");
  box.setAttribute("aria-roledescription", "chart");
  box.setAttribute("aria-label", `${box.getAttribute("aria-label")}. ${HINT}`);
  const liveRegion = document.createElement("div");
  liveRegion.className = "sr";
  liveRegion.setAttribute("aria-live", "polite");
  box.parentElement.append(liveRegion);
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

  // After uPlot has drawn: it draws in a separate microtask.
  const runLater = (action) => queueMicrotask(action);

  function move(step) {
    const x = rows(), last = x.length - 1;
    const { min, max } = chart.plot.scales.x;
    if (row < 0 || row > last) row = step > 0 ? x.findIndex((value) => value >= min) - 1 : x.findLastIndex((value) => value <= max) + 1;
    const direction = Math.sign(step);
    let next = Math.min(last, Math.max(0, row + step));
    while (next >= 0 && next <= last && !chart.shows(next)) next += direction;
    if (next < 0 || next > last) return;
    row = next;
    const { plot } = chart;
    const position = plot.valToPos(x[row], "x");
    const overshoot = position < 0 ? position - width() / 10 : position > width() ? position - 0.9 * width() : 0;
    if (overshoot) show(plot.posToVal(overshoot, "x"), plot.posToVal(overshoot + width(), "x"));
    runLater(() => {
      point();
      liveRegion.textContent = chart.describe();
    });
  }

  function zoom(factor) {
    const { plot } = chart, x = rows();
    const center = row < 0 ? width() / 2 : Math.min(width(), Math.max(0, plot.valToPos(x[row], "x")));
    const left = plot.posToVal(center - center * factor, "x"), right = plot.posToVal(center + (width() - center) * factor, "x");
    // Do not zoom in to fewer than a few points.
    if (factor < 1 && x.filter((value) => value >= left && value <= right).length < 4) return;
    show(left, right);
    runLater(() => {
      if (row >= 0) point();
      liveRegion.textContent = chart.span();
    });
  }

  const actions = {
    ArrowLeft: () => move(-1), ArrowRight: () => move(1),
    PageUp: () => move(-Math.ceil(rows().length / 10)), PageDown: () => move(Math.ceil(rows().length / 10)),
    Home: () => { row = -1; move(1); }, End: () => { row = -1; move(-1); },
    "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), _: () => zoom(2),
    0: () => reset(), Escape: () => reset(),
  };

  function reset() {
    chart.reset();
    runLater(() => {
      if (row >= 0) point();
      liveRegion.textContent = chart.span();
    });
  }

  box.addEventListener("keydown", (event) => {
    const action = actions[event.key];
    if (!action || event.ctrlKey || event.altKey || event.metaKey || !chart.plot) return;
    event.preventDefault();
    action();
  });
  // The keys continue from the last position of the pointer.
  box.addEventListener("pointermove", () => { row = chart.plot?.cursor.idx ?? row; });
  box.addEventListener("blur", () => chart.plot?.setCursor({ left: -10, top: -10 }));
}
