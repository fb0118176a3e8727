// The overlaid charts of a comparison: lines.js draws them; a button for each drive switches its lines.

import "./lines.js";

const switches = document.getElementById("switches");
switches.hidden = false;
for (const button of switches.querySelectorAll("button")) {
  button.addEventListener("click", () => {
    const isOn = button.getAttribute("aria-pressed") !== "true";
    button.setAttribute("aria-pressed", String(isOn));
    for (const box of document.querySelectorAll("#charts [data-runs]")) {
      box.dataset.runs.split(" ").forEach((run, index) => {
        if (run === button.dataset.run) box.lines.switch(index, isOn);
      });
      box.lines.switchMarks(button.dataset.run, isOn);
    }
    for (const item of document.querySelectorAll(`#charts .legend [data-run="${button.dataset.run}"]`)) item.classList.toggle("off", !isOn);
  });
}
