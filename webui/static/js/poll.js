// Polls the bench. After a sleep of the laptop, a network failure or a restart of the server the poll
// continues: the page need not be reloaded.

// A request whose connection broke during a sleep never ends: it times out.
const LONGEST_ANSWER = 10_000;
const LONGEST_WAIT = 15_000;

export async function fetchJson(address) {
  const answer = await fetch(address, { headers: { Accept: "application/json" }, signal: AbortSignal.timeout(LONGEST_ANSWER) });
  if (!answer.ok) throw Object.assign(new Error(String(answer.status)), { status: answer.status });
  return answer.json();
}

// The current page from the server, to copy parts from; `answer` shows whether it is that page.
export async function fetchPage(address) {
  const answer = await fetch(address, { headers: { Accept: "text/html" }, signal: AbortSignal.timeout(LONGEST_ANSWER) });
  return { answer, page: new DOMParser().parseFromString(await answer.text(), "text/html") };
}

// The message about a failure.
export const errorText = (error) => (error.status === 401 ? "signed out: reload this page to sign in" : "no connection to the bench, retrying");

// `step` asks, shows, and returns the milliseconds until its next call; null ends the poll.
export function poll(step, onError = () => {}) {
  let timer = 0, missCount = 0, isBusy = false;

  async function turn() {
    clearTimeout(timer);
    if (isBusy) return;
    isBusy = true;
    let wait;
    try {
      wait = await step();
      missCount = 0;
    } catch (error) {
      missCount += 1;
      wait = Math.min(LONGEST_WAIT, 1000 * 2 ** Math.min(missCount, 10));
      onError(error);
    }
    isBusy = false;
    if (wait === null) {
      for (const [source, name] of nudges) source.removeEventListener(name, nudge);
    } else timer = setTimeout(turn, wait);
  }

  // Timers of a page in the background are slow, and stop during a sleep.
  const nudge = () => { if (!document.hidden) turn(); };
  const nudges = [[window, "online"], [window, "pageshow"], [document, "visibilitychange"]];
  for (const [source, name] of nudges) source.addEventListener(name, nudge);
  turn();
}
