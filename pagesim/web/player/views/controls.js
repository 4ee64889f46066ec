// The bar that moves: first, back, play, on, last, speed, jumps; and the fields that ask for a place, a request or a
// block. Knows nothing about how a move is made.

import { button, el, icon } from "../dom.js";
import { clean, shownNumber } from "../words.js";

export class Controls {
  constructor(page) {
    this.page = page;
    this.playButton = button("play (Space)", icon("play"), () => page.act("play"), { class: "play" });
    this.speed = el("select", { "aria-label": "Speed" });
    page.speeds.forEach((speed, at) => this.speed.append(el("option", { value: at }, `${speed} steps/s`)));
    this.speed.addEventListener("change", () => page.setSpeed(Number(this.speed.value)));
    this.group = el("select", { "aria-label": "What to jump to" });
    for (const group of page.groups) this.group.append(el("option", { value: group }, group));
    this.group.addEventListener("change", () => page.chooseGroup(this.group.value));
    for (const select of [this.speed, this.group]) letGo(select);
    this.element = el("div", { class: "controls" }, this.transport(), this.jumps(), this.note());
  }

  transport() {
    const { page } = this;
    const move = (label, shape, ...action) => button(label, icon(shape), () => page.act(...action));
    return el("div", { class: "transport", role: "group", "aria-label": "Move" },
      move("to the start (Home)", "start", "ends", null, -1),
      move("one step back (↑)", "stepBack", "steps", "1", -1),
      move("one event back (←)", "eventBack", "events", null, -1),
      this.playButton,
      move("one event on (→)", "event", "events", null, 1),
      move("one step on (↓)", "step", "steps", "1", 1),
      move("to the end (End)", "end", "ends", null, 1));
  }

  jumps() {
    const jump = (direction) => () => this.page.act("jump", this.group.value, direction);
    return el("div", { class: "jumps", role: "group", "aria-label": "Jump, and speed" },
      button("the one before", icon("previous"), jump(-1)),
      this.group,
      button("the next one", icon("next"), jump(1)),
      this.speed);
  }

  note() {
    this.noted = el("p", { class: "noted", role: "status" });
    return this.noted;
  }

  draw() {
    const { page } = this;
    const label = page.isPlaying ? "pause (Space)" : "play (Space)";
    if (this.playButton.getAttribute("aria-label") !== label) {
      this.playButton.replaceChildren(icon(page.isPlaying ? "pause" : "play"));
      this.playButton.setAttribute("aria-label", label);
      this.playButton.title = label;
    }
    this.speed.value = String(page.speed);
    for (const option of this.group.options) {
      const count = page.journey.run.jumps.get(option.value)?.length ?? 0;
      option.textContent = `${option.value} (${shownNumber(count)})`;
    }
    this.group.value = page.group;
    if (this.noted.textContent !== page.journey.note) this.noted.textContent = page.journey.note;
  }
}

// A menu that was used with the mouse does not keep the keys; one that was used with keys does.
function letGo(select) {
  let isPointed = false;
  select.addEventListener("pointerdown", () => (isPointed = true));
  select.addEventListener("keydown", () => (isPointed = false));
  select.addEventListener("change", () => isPointed && select.blur());
}

const FIELDS = [
  ["goto", "Go to", "12 or e345", "numeric"],
  ["filter", "Follow", "a request", "text"],
  ["block", "Block", "7 or h2", "text"],
];

// Above the runs: where to go, whom to follow, which block to inspect.
export class Fields {
  constructor(page) {
    this.page = page;
    this.inputs = {};
    const names = el("datalist", { id: page.id("names") });
    this.names = names;
    const fields = FIELDS.map(([what, label, hint, mode]) => this.field(what, label, hint, mode));
    this.element = el("div", { class: "fields", role: "group", "aria-label": "Look" }, ...fields, names);
  }

  field(what, label, hint, mode) {
    const id = this.page.id(what);
    const input = el("input", { id, type: "text", placeholder: hint, autocomplete: "off", spellcheck: "false", inputmode: mode === "numeric" ? null : mode });
    if (what === "filter") input.setAttribute("list", this.names.id);
    input.addEventListener("keydown", (event) => this.pressed(what, event));
    if (what === "filter") input.addEventListener("focus", () => this.offer());
    this.inputs[what] = input;
    return el("div", { class: "field" }, el("label", { for: id }, label), input);
  }

  pressed(what, event) {
    if (event.key === "Enter") {
      event.preventDefault();
      this.page.answer(what, this.inputs[what].value);
    } else if (event.key === "Escape") {
      event.preventDefault();
      event.stopPropagation();
      this.page.answer(what, "");
    }
  }

  // Names to choose from; of very many, the first.
  offer() {
    const names = [...this.page.journey.run.requests.keys()].slice(0, 200);
    this.names.replaceChildren(...names.map((name) => el("option", { value: clean(name) })));
  }

  ask(what) {
    this.inputs[what].focus();
    this.inputs[what].select();
  }

  draw() {
    const { run } = this.page.journey;
    const active = this.element.getRootNode().activeElement;
    if (active !== this.inputs.filter) this.inputs.filter.value = run.followed ?? "";
  }
}
