// The page's words in its language, which it hands over in its first element. English texts are the
// messages themselves; scripts/messages puts those of `say("...")` into the catalogue.

const words = JSON.parse(document.documentElement.dataset.words ?? "{}");

export const say = (message, values = {}) => (words[message] ?? message).replace(/%\((\w+)\)s|%%/g, (_, name) => (name ? values[name] : "%"));

// A state or direction as the bench records it.
export const word = (recorded) => words[recorded] ?? recorded.replace("_", " ");
