// Waits until the agent has begun the run that was asked for, or refused it; then shows that.

const box = document.getElementById("request");
const begun = Date.now();
let taken = false;

async function look() {
  try {
    const answer = await fetch(box.dataset.url);
    const asked = answer.ok ? await answer.json() : null;
    taken = asked !== null && asked.state === "taken";
    const open = asked === null || asked.state === "waiting";
    if (!open && !(taken && asked.kind === "run" && asked.run === null)) {
      location.replace(location.pathname);
      return;
    }
  } catch {
    // The page is tried again below; a bench that restarts loses no request.
  }
  document.getElementById("slow").hidden = taken || Date.now() - begun < 8000;
  setTimeout(look, 1000);
}

look();
