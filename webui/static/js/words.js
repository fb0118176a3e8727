// The page's words in its language, which it hands over in its first element. English texts are the
// messages themselves; scripts/messages puts those of `say("...")` into the catalogue.

const words = JSON.parse(document.documentElement.dataset.words ?? "{}");

export const say = (message, values = {}) => (words[message] ?? message).replace(/%\((\w+)\)s|%%/g, (_, name) => (name ? values[name] : "%"));

export const duration = (seconds) => {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
};

// How long a run or a queue takes yet.
export const timeLeft = (seconds, atMost) => {
  const time = duration(seconds);
  return atMost ? say("at most %(time)s left", { time }) : say("%(time)s left", { time });
};

// A state or direction as the bench records it.
export const word = (recorded) => words[recorded] ?? recorded.replace("_", " ");
