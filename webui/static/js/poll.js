// Asks the bench again and again. A laptop that slept, a network that was away and a server that
// was restarted are waited for: nothing has to be loaded anew.

// A request on a connection that died in a sleep never comes to an end: it is given up.
const LONGEST_ANSWER = 10_000;
const LONGEST_WAIT = 15_000;

export async function ask(address) {
  const answer = await fetch(address, { headers: { Accept: "application/json" }, signal: AbortSignal.timeout(LONGEST_ANSWER) });
  if (!answer.ok) throw Object.assign(new Error(String(answer.status)), { status: answer.status });
  return answer.json();
}

// A page as the server writes it now, to take parts out of; `answer` tells whether it is that page.
export async function fresh(address) {
  const answer = await fetch(address, { headers: { Accept: "text/html" }, signal: AbortSignal.timeout(LONGEST_ANSWER) });
  return { answer, page: new DOMParser().parseFromString(await answer.text(), "text/html") };
}

// What is to be said of a failure.
export const told = (error) => (error.status === 401 ? "signed out: load this page again to sign in" : "the bench does not answer, trying again");

// `once` asks, shows, and returns the milliseconds until it is called again; null ends it.
export function poll(once, failed = () => {}) {
  let timer = 0, misses = 0, busy = false;

  async function turn() {
    clearTimeout(timer);
    if (busy) return;
    busy = true;
    let wait;
    try {
      wait = await once();
      misses = 0;
    } catch (error) {
      misses += 1;
      wait = Math.min(LONGEST_WAIT, 1000 * 2 ** Math.min(misses, 10));
      failed(error);
    }
    busy = false;
    if (wait === null) {
      for (const [target, name] of nudges) target.removeEventListener(name, nudge);
    } else timer = setTimeout(turn, wait);
  }

  // Timers of a page in the background are slow, and stand still in a sleep.
  const nudge = () => { if (!document.hidden) turn(); };
  const nudges = [[window, "online"], [window, "pageshow"], [document, "visibilitychange"]];
  for (const [target, name] of nudges) target.addEventListener(name, nudge);
  turn();
}
