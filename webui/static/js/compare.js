// The overlaid charts of a comparison: lines.js draws them; a button for each drive switches its lines.

import "./lines.js";

const switches = document.getElementById("switches");
switches.hidden = false;
for (const button of switches.querySelectorAll("button")) {
  button.addEventListener("click", () => {
    const on = button.getAttribute("aria-pressed") !== "true";
    button.setAttribute("aria-pressed", String(on));
    for (const box of document.querySelectorAll("#charts [data-runs]")) {
      box.dataset.runs.split(" ").forEach((run, n) => {
        if (run === button.dataset.run) box.lines.switch(n, on);
      });
      box.lines.switchMarks(button.dataset.run, on);
    }
    for (const item of document.querySelectorAll(`#charts .legend [data-run="${button.dataset.run}"]`)) item.classList.toggle("off", !on);
  });
}
