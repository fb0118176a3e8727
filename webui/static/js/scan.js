// A barcode scanner at the visitor's computer acts as a keyboard, but faster than a person, with Enter
// or Tab at the end. Its scans go to the desk from every page: they change no other field and press no
// button.

// Slow scanners send a key every 30 ms; the fastest typists one every 50, and no four in a row.
const FAST_MS = 35;
const LEAST = 4;

const box = document.getElementById("scanned");
let keys = [];
let lastTime = 0;
let savedField = null;

const takesText = (element) =>
  element instanceof HTMLTextAreaElement ||
  (element instanceof HTMLInputElement && element.selectionStart !== null);

function start(event) {
  keys = [];
  const field = document.activeElement;
  savedField = takesText(field)
    ? { field, value: field.value, start: field.selectionStart, end: field.selectionEnd }
    : null;
  lastTime = event.timeStamp;
}

// Removes from a field what the scanner typed before the scan was recognized.
function restoreField() {
  if (savedField === null) return;
  savedField.field.value = savedField.value;
  savedField.field.setSelectionRange(savedField.start, savedField.end);
  savedField.field.dispatchEvent(new Event("input", { bubbles: true }));
}

async function save(text) {
  box.hidden = false;
  try {
    const answer = await fetch("/api/v1/desk/scans", {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-CSRF-Token": box.dataset.csrf },
      body: JSON.stringify({ text }),
    });
    const reply = await answer.json();
    box.textContent = answer.ok
      ? `Scanned: ${text}`
      : `Scanned: ${text}, but it was not saved: ${reply.error.message}`;
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
  const isFast = event.timeStamp - lastTime <= FAST_MS;
  const isEnd = event.key === "Enter" || event.key === "Tab";
  if (isEnd && isFast && keys.length >= LEAST) {
    stop(event);
    restoreField();
    const text = keys.join("").trim();
    keys = [];
    if (text) save(text);
    return;
  }
  if (event.key.length !== 1) {
    if (event.key !== "Shift") keys = [];
    return;
  }
  if (!isFast) start(event);
  lastTime = event.timeStamp;
  keys.push(event.key);
  // A space in the middle of a barcode must press no button that happens to have the focus.
  if (event.key === " " && keys.length > 1 && !takesText(document.activeElement)) stop(event);
}, true);

// A space presses the button on key up.
document.addEventListener("keyup", (event) => {
  if (event.key === " " && keys.length > 1 && !takesText(document.activeElement)) stop(event);
}, true);
