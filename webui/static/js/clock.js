// Offers this computer's clock when the bench's is off by more than two minutes.

const box = document.getElementById("clock");
const offset = Date.now() - Number(box.dataset.ms);

const formatTime = (ms) => new Date(ms).toISOString().slice(0, 16).replace("T", " ");

if (Math.abs(offset) > 120_000) {
  document.getElementById("clock-bench").textContent = formatTime(Number(box.dataset.ms));
  document.getElementById("clock-here").textContent = formatTime(Date.now());
  box.hidden = false;
}
document.getElementById("clock-form")?.addEventListener("submit", (event) => {
  event.target.elements.ms.value = String(Date.now());
});
