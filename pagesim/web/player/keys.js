// Every key of the player, once: what keys do and what the help says come from this table.
//
// They are the terminal viewer's, where a browser lets them be: Tab moves the focus here, so 1 and 2 choose the run;
// PgUp and PgDn scroll the page. A key with a `reverse` takes a direction. Names are those of KeyboardEvent.key.

const SECTIONS = [
  ["Move (keys: forward, back)", [
    [["ArrowRight", "l"], ["ArrowLeft", "h"], "one event; following somebody, one of the own events", "events"],
    [["ArrowDown", "j"], ["ArrowUp", "k"], "one step", "steps:1"],
    [["]"], ["["], "ten steps", "steps:10"],
    [["End", "G"], ["Home", "g"], "the end, the start", "ends"],
  ]],
  ["Jump to the next (capital: the previous)", [
    [["p"], ["P"], "preemption", "jump:preemption"],
    [["c"], ["C"], "copy", "jump:copy"],
    [["e"], ["E"], "eviction", "jump:eviction"],
    [["r"], ["R"], "refusal, or wait for memory", "jump:refusal"],
    [["f"], ["F"], "finish", "jump:finish"],
    [["a"], ["A"], "admission", "jump:admission"],
    [["o"], ["O"], "fork", "jump:fork"],
    [["w"], ["W"], "swap to the host, or back", "jump:swap"],
    [["m"], ["M"], "choice of beams, or ended answer", "jump:beam"],
  ]],
  ["Play", [
    [[" "], [], "play, pause", "play"],
    [["+", "="], ["-"], "faster, slower", "speed"],
  ]],
  ["Look", [
    [[":", "s"], [], "go to a step (12), an event (e345)", "ask:goto"],
    [["/"], [], "follow a request (first letters), or sample r1.2", "ask:filter"],
    [["b"], [], "inspect a block, 7 or the host's h2: who held it", "ask:block"],
    [["."], [","], "inspect the next block, the one before", "blocks"],
    [["1"], ["2"], "the left run, the right run, of two", "other"],
    [["Escape"], [], "stop, close, clear, one at a time", "undo"],
    [["?"], [], "this help", "help"],
  ]],
];

export const KEYS = SECTIONS.map(([title, keys]) => ({
  title,
  keys: keys.map(([forward, reverse, words, action]) => ({ forward, reverse, words, action })),
}));

const ACTIONS = new Map();
for (const { keys } of KEYS) {
  for (const { forward, reverse, action } of keys) {
    const [name, argument] = action.split(":");
    for (const key of forward) ACTIONS.set(key, { name, argument, direction: 1 });
    for (const key of reverse) ACTIONS.set(key, { name, argument, direction: -1 });
  }
}

// Which keys buttons, sliders and menus need for themselves.
const OWN_KEYS = {
  button: [" ", "Enter"],
  summary: [" ", "Enter"],
  range: ["ArrowRight", "ArrowLeft", "ArrowUp", "ArrowDown", "Home", "End"],
};

// What a key press asks for; null: nothing, or the element that has the focus needs it.
export function actionOf(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return null;
  const target = event.composedPath()[0];
  const tag = target.localName;
  const isRange = tag === "input" && target.type === "range";
  if (["select", "textarea"].includes(tag) || target.isContentEditable) return null;
  if (tag === "input" && !isRange && target.type !== "checkbox") return null;
  if (target.closest?.(".pagesim [role=region][tabindex]") && event.key.startsWith("Arrow")) return null; // it scrolls
  if ((OWN_KEYS[isRange ? "range" : tag] ?? []).includes(event.key)) return null;
  return ACTIONS.get(event.key) ?? null;
}

const SHOWN = {
  ArrowRight: "→", ArrowLeft: "←", ArrowDown: "↓", ArrowUp: "↑", " ": "Space", Escape: "Esc",
};

export function shownKeys(keys) {
  return keys.map((key) => SHOWN[key] ?? key);
}
