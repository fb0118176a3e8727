// A barcode scanner at the visitor's computer types like a keyboard, but faster than anybody, with
// Enter or Tab at the end. What it reads goes to the desk, from every page: it types into no other
// field and presses no button.

// Slow scanners send a key every 30 ms; the fastest typists one every 50, and no four in a row.
const FAST_MS = 35;
const LEAST = 4;

const box = document.getElementById("scanned");
let keys = [];
let last = 0;
let before = null;

const takesText = (element) =>
  element instanceof HTMLTextAreaElement ||
  (element instanceof HTMLInputElement && element.selectionStart !== null);

function begin(event) {
  keys = [];
  const at = document.activeElement;
  before = takesText(at)
    ? { field: at, value: at.value, start: at.selectionStart, end: at.selectionEnd }
    : null;
  last = event.timeStamp;
}

// What was typed into a field before it was known to be a scan is taken out again.
function takeBack() {
  if (before === null) return;
  before.field.value = before.value;
  before.field.setSelectionRange(before.start, before.end);
  before.field.dispatchEvent(new Event("input", { bubbles: true }));
}

async function keep(text) {
  box.hidden = false;
  try {
    const answer = await fetch("/api/v1/desk/scans", {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-CSRF-Token": box.dataset.csrf },
      body: JSON.stringify({ text }),
    });
    const said = await answer.json();
    box.textContent = answer.ok
      ? `Scanned: ${text}`
      : `Scanned: ${text}, but it was not kept: ${said.error.message}`;
    if (answer.ok) document.dispatchEvent(new Event("scanned"));
  } catch {
    box.textContent = `Scanned: ${text}, but the bench did not answer. Scan it again.`;
  }
}

function stop(event) {
  event.preventDefault();
  event.stopImmediatePropagation();
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  const fast = event.timeStamp - last <= FAST_MS;
  const ends = event.key === "Enter" || event.key === "Tab";
  if (ends && fast && keys.length >= LEAST) {
    stop(event);
    takeBack();
    const text = keys.join("").trim();
    keys = [];
    if (text) keep(text);
    return;
  }
  if (event.key.length !== 1) {
    if (event.key !== "Shift") keys = [];
    return;
  }
  if (!fast) begin(event);
  last = event.timeStamp;
  keys.push(event.key);
  // A space in the middle of a barcode must press no button that happens to have the focus.
  if (event.key === " " && keys.length > 1 && !takesText(document.activeElement)) stop(event);
}, true);

// The button is pressed when the space is let go.
document.addEventListener("keyup", (event) => {
  if (event.key === " " && keys.length > 1 && !takesText(document.activeElement)) stop(event);
}, true);
