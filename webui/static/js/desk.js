// The desk's ticket follows what is scanned, here or at the bench.

const ticket = document.getElementById("ticket");

async function look() {
  try {
    const answer = await fetch(ticket.dataset.url);
    if (answer.ok) {
      const desk = await answer.json();
      for (const [name, text] of Object.entries(desk.ticket)) {
        ticket.querySelector(`[data-part="${name}"]`).textContent = text || "–";
      }
      if (desk.scanner) document.getElementById("scanner").textContent = desk.scanner;
    }
  } catch {
    // Asked again: a bench that restarts has its scans in the store.
  }
}

document.addEventListener("scanned", () => setTimeout(look, 700));
setInterval(look, 2000);
