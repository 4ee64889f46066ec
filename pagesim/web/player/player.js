// The player: `mount(element, payload, options)` puts it into an element of a page, a notebook or a gallery.
//
// payload is pagesim.web.bundle.page_payload's. Options, all of them optional:
//   page      true: it has the page to itself, so that keys work everywhere and the address tells the place
//   level     of the first heading: 1 on a page of its own, else 3
//   theme     "light" or "dark"; otherwise as the reader's system has it
//   step      the step to begin at; event: the event
//   onChange  called with {run, place, step, event, time_ns} after each move
// It returns a handle at once:
// {ready, seek(place), step(count), goToStep(n), play(), pause(), setTheme("light" or "dark"), destroy(), place}.
// `ready` is a promise that is kept when the runs are unpacked and drawn. Nothing is fetched; a page of its own keeps
// whether its reader chose light or dark, where the browser allows that, and nothing else is stored.

import { blockName } from "./blocks.js";
import { button, el, icon } from "./dom.js";
import { Journey } from "./journey.js";
import { actionOf, KEYS, shownKeys } from "./keys.js";
import { Run } from "./run.js";
import { Controls, Fields } from "./views/controls.js";
import { Look } from "./views/kit.js";
import { RunPane } from "./views/pane.js";
import { StripView } from "./views/strip.js";
import { clamp, clean } from "./words.js";

const SPEEDS = [0.5, 1, 2, 5, 10, 20, 50, 100, 200]; // steps a second
const MOST_TICKS = 20; // a second; faster than that, several steps at once
const SEEK_PAUSE = 120; // ms until it is said that a move takes its time
const ADDRESS_PAUSE = 300; // ms until a place at rest is put into the address
const THEME_KEY = "pagesim-theme";
const OLD_BROWSER = "This page needs a browser of 2023 or newer: this one cannot unpack compressed data.";
const DAMAGED = "This page cannot be shown: what it holds of the run is damaged. Export it again.";

let numPlayers = 0;

export function mount(element, payload, options = {}) {
  const player = new Player(element, payload, options);
  player.ready = player.begin().catch((error) => player.fail(error));
  return player.handle();
}

class Player {
  constructor(element, payload, options) {
    this.number = ++numPlayers;
    this.payload = payload;
    this.options = { ...options };
    this.look = new Look(payload);
    this.labels = Object.assign(Object.create(null), payload.labels);
    this.groups = payload.groups;
    this.phases = payload.phases;
    this.speeds = SPEEDS;
    this.speed = SPEEDS.indexOf(2);
    this.group = "preemption";
    this.timer = null;
    this.queue = Promise.resolve(); // relative moves wait for those before them
    this.queued = 0;
    this.generation = 0; // of moves that wait; an absolute move ends it
    this.hasLetters = true; // else only named keys are: who dictates says many letters
    this.element = el("div", { class: "pagesim" });
    this.element.tabIndex = options.page ? -1 : 0;
    element.replaceChildren(this.element);
    this.ending = new AbortController();
    this.options.theme ??= options.page ? keptTheme() : null;
    this.setTheme(this.options.theme);
    this.element.append(el("p", { class: "opening", role: "status" }, "Opening the run …"));
  }

  id(name) {
    return `pagesim-${this.number}-${name}`;
  }

  get isPlaying() {
    return this.timer !== null;
  }

  // -- life ------------------------------------------------------------------------------------------------

  async begin() {
    if (typeof DecompressionStream === "undefined") {
      this.element.replaceChildren(el("p", { class: "warning" }, OLD_BROWSER));
      return;
    }
    const runs = await Promise.all(this.payload.runs.map((run) => Run.of(run)));
    this.journey = new Journey(runs);
    this.group = this.firstGroup();
    const asked = this.placeAsked();
    if (asked !== null) this.element.querySelector(".opening").textContent = `Opening the run at ${placeName(asked)} …`;
    await this.goToBeginning(asked);
    this.lay();
    this.listen();
    await this.draw();
  }

  // What was to be shown cannot be: a sentence, and for those who want to know, the reason.
  fail(error) {
    this.journey = null;
    this.element.replaceChildren(el("p", { class: "warning", role: "alert" }, `${DAMAGED} (${error.message})`));
  }

  // The first kind of event that there is to jump to.
  firstGroup() {
    return this.groups.find((group) => this.journey.run.jumps.get(group).length) ?? this.groups[0];
  }

  // Where the address or the options say to begin, as it would be typed; null: nowhere.
  placeAsked() {
    const { page, step, event } = this.options;
    const asked = page ? placeAsked(location.hash) : null;
    if (asked !== null) return asked;
    if (event !== undefined) return `e${event}`;
    return step === undefined ? null : String(step);
  }

  // What the address says one follows or inspects; then the place.
  async goToBeginning(asked) {
    const { run } = this.journey;
    if (this.options.page) await this.tried(() => this.lookAsAsked(run));
    if (asked !== null && (await this.goTyped(asked))) return;
    const { note } = this.journey;
    await this.journey.go(run.log.first);
    if (asked !== null) this.misplaced = `${note}; this is the start`;
  }

  lookAsAsked(run) {
    const asked = new URLSearchParams(location.hash.slice(1));
    if (asked.get("follow")) run.followed = run.requestTyped(asked.get("follow"));
    if (asked.get("block")) run.block = run.blockTyped(asked.get("block"));
  }

  lay() {
    const level = this.options.level ?? (this.options.page ? 1 : 3);
    this.fields = new Fields(this);
    this.strip = new StripView(this);
    this.controls = new Controls(this);
    this.themeButton = button("dark or light", icon("dark"), () => this.toggleTheme(), { class: "quiet" });
    const help = button("all keys (?)", "?", () => this.act("help"), { class: "quiet" });
    const brand = el("p", { class: "brand" }, "pagesim");
    this.moreButton = button("go to, follow, block, jumps", icon("find"), () => this.showMore(), { class: "quiet more-button", "aria-expanded": "false" });
    this.tabs = el("div", { class: "tabs", role: "group", "aria-label": "Which of the two runs is shown" });
    this.panes = el("div", { class: "panes" });
    this.warning = el("p", { class: "misplaced", role: "alert" }, this.misplaced ?? "");
    this.help = helpDialog(level + 1, this);
    this.element.replaceChildren(
      el("header", { class: "top" }, brand, this.fields.element, this.moreButton, this.themeButton, help),
      this.warning,
      this.tabs,
      this.panes,
      el("footer", { class: "bottom" }, this.strip.element, this.controls.element),
      this.help,
    );
    this.level = level;
    this.layPanes();
    this.setTheme(this.options.theme ?? null);
  }

  layPanes() {
    this.shownPanes = this.journey.shownRuns.map((run, at) => new RunPane(this, run, at, this.level));
    this.panes.classList.toggle("two", this.shownPanes.length > 1);
    this.panes.replaceChildren(...this.shownPanes.map((pane) => pane.element));
    const tabs = this.journey.shownRuns.map((run, at) =>
      el("button", { type: "button", onclick: () => this.other(at ? -1 : 1) }, clean(run.name)));
    this.tabs.replaceChildren(...(tabs.length > 1 ? tabs : []));
  }

  listen() {
    const { signal } = this.ending;
    const target = this.options.page ? document : this.element;
    target.addEventListener("keydown", (event) => this.pressed(event), { signal });
    if (this.options.page) window.addEventListener("hashchange", () => this.addressChanged(), { signal });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.systemTheme(), { signal });
    window.addEventListener("beforeprint", () => this.printed(true), { signal });
    window.addEventListener("afterprint", () => this.printed(false), { signal });
    this.watcher = new ResizeObserver(() => this.redrawSoon());
    this.watcher.observe(this.panes);
  }

  destroy() {
    this.pause();
    this.ending.abort();
    this.watcher?.disconnect();
    clearTimeout(this.addressTimer);
    this.element.remove();
  }

  handle() {
    const { ready } = this;
    const player = this;
    const after = (act) => async (...words) => {
      await ready;
      if (player.journey) await act(...words);
    };
    return {
      ready,
      seek: after((place) => this.go(this.journey.run, place)),
      step: after((count = 1) => this.act("steps", String(Math.abs(count)), Math.sign(count) || 1)),
      goToStep: after((step) => this.goTyped(String(step)).then(() => this.draw())),
      play: after(() => this.play()),
      pause: after(() => this.pause()),
      setTheme: (theme) => this.changeTheme(theme),
      destroy: () => this.destroy(),
      get place() {
        return player.journey?.run.place ?? null;
      },
    };
  }

  // -- drawing ---------------------------------------------------------------------------------------------

  async draw() {
    if (!this.journey) return;
    await Promise.all(this.shownPanes.map((pane) => pane.ready()));
    if (!this.journey) return;
    this.strip.group = this.group;
    this.strip.draw();
    this.controls.draw();
    this.fields.draw();
    [...this.tabs.children].forEach((tab, at) => tab.setAttribute("aria-pressed", String(at === this.journey.active)));
    await Promise.all(this.shownPanes.map((pane) => pane.draw()));
    this.tell();
  }

  redrawSoon() {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = null;
      this.draw();
    });
  }

  // The place is new: whoever asked is told, and the address follows when it is at rest.
  tell() {
    const { run } = this.journey;
    if (this.options.page) this.putAddressSoon();
    const told = { run: this.journey.shown[this.journey.active], place: run.place, step: run.step, event: run.cursor.event, time_ns: run.state.time_ns };
    if (this.toldPlace === `${told.run} ${told.place}`) return;
    if (this.toldPlace !== undefined) this.warning.textContent = "";
    this.toldPlace = `${told.run} ${told.place}`;
    this.options.onChange?.(told);
  }

  putAddressSoon() {
    clearTimeout(this.addressTimer);
    this.addressTimer = setTimeout(() => this.putAddress(), ADDRESS_PAUSE);
  }

  putAddress() {
    const { run } = this.journey;
    const step = run.stepPosition === null ? null : run.step;
    const isAtStep = step !== null && run.steps[run.stepPosition] === run.place;
    const parts = run.place === run.log.first ? [] : [isAtStep ? `step=${step}` : `event=${run.place}`];
    if (run.followed !== null) parts.push(`follow=${encodeURIComponent(run.followed)}`);
    if (run.block !== null) parts.push(`block=${blockName(run.block, run.state)}`);
    const wanted = `#${parts.join("&")}`;
    if (wanted === (location.hash || "#")) return;
    try {
      history.replaceState(null, "", wanted === "#" ? location.pathname + location.search : wanted);
    } catch {
      // some browsers let a file's address be; the page works all the same
    }
  }

  async addressChanged() {
    const asked = placeAsked(location.hash);
    await this.tried(() => this.lookAsAsked(this.journey.run));
    if (asked && !(await this.goTyped(asked))) this.warning.textContent = this.journey.note;
    await this.draw();
  }

  // -- moving ----------------------------------------------------------------------------------------------

  async go(run, place) {
    this.activate(run);
    if (await this.absolutely(() => this.journey.go(place))) await this.draw();
  }

  async goTyped(text) {
    return this.tried(() => this.absolutely(() => this.journey.go(this.journey.run.placeTyped(text))));
  }

  // A move to a place: it ends moves that are under way, and those that wait.
  absolutely(move) {
    this.generation += 1;
    this.queued = 0;
    const moved = this.busy(move);
    this.queue = moved.catch(() => {});
    return moved;
  }

  // A move from where one is: only when the moves before it have come to their places. True where there is to draw.
  async relatively(move) {
    const { generation } = this;
    this.queued += 1;
    const moved = this.queue.then(() => generation === this.generation && this.busy(move));
    this.queue = moved.catch(() => {});
    const counts = await moved;
    if (generation !== this.generation) return false;
    this.queued -= 1;
    return counts && !this.queued;
  }

  // Say so, while it takes long.
  async busy(act) {
    const timer = setTimeout(() => this.seeking(true), SEEK_PAUSE);
    try {
      return await act();
    } finally {
      clearTimeout(timer);
      this.seeking(false);
    }
  }

  seeking(isOn) {
    if (!this.controls || isOn === this.element.classList.contains("seeking")) return;
    this.element.classList.toggle("seeking", isOn);
    this.element.setAttribute("aria-busy", String(isOn));
    if (isOn) this.controls.noted.textContent = "seeking …";
    else this.controls.draw();
  }

  // A sentence instead of an error, where what was asked for makes no sense.
  async tried(act) {
    try {
      await act();
      return true;
    } catch (error) {
      this.journey.note = error.message;
      return false;
    }
  }

  activate(run) {
    const at = this.journey.shownRuns.indexOf(run);
    if (at < 0 || at === this.journey.active) return;
    this.journey.activate(at);
    this.redrawSoon();
  }

  async show(at, number) {
    this.pause();
    await this.journey.show(at, number);
    this.layPanes();
    await this.draw();
  }

  // Do what a key or a button says.
  async act(name, argument = null, direction = 1) {
    const { journey } = this;
    if (["events", "steps", "ends", "jump"].includes(name)) {
      if (name !== "steps" || !this.isPlaying) this.pause();
      const words = name === "steps" ? [Number(argument), direction] : name === "jump" ? [argument, direction] : [direction];
      if (name === "jump") this.group = argument;
      const move = () => journey[name](...words);
      if (await (name === "ends" ? this.absolutely(move) : this.relatively(move))) await this.draw();
      return;
    }
    if (name === "play") this.togglePlay();
    if (name === "speed") this.setSpeed(this.speed + direction);
    if (name === "ask") this.ask(argument);
    if (name === "blocks") this.nextBlock(direction);
    if (name === "other") this.other(direction);
    if (name === "undo") this.undo();
    if (name === "help") this.help.showModal();
    this.redrawSoon();
  }

  pressed(event) {
    if (this.help.open || event.target.closest?.("dialog")) return;
    const action = actionOf(event);
    if (!action || (!this.hasLetters && event.key.length === 1 && event.key !== " ")) return;
    event.preventDefault();
    if (!this.options.page) event.stopPropagation();
    this.act(action.name, action.argument, action.direction);
  }

  chooseGroup(group) {
    this.group = group;
    this.redrawSoon();
  }

  // -- playing ---------------------------------------------------------------------------------------------

  togglePlay() {
    if (this.isPlaying) this.pause();
    else this.play();
  }

  play() {
    const { run } = this.journey;
    if (run.place >= run.log.stop) {
      this.journey.note = "this is the end; Home goes to the start";
      this.redrawSoon();
      return;
    }
    this.journey.note = "";
    this.timer = setTimeout(() => this.tick(), 0);
    this.redrawSoon();
  }

  pause() {
    if (!this.isPlaying) return;
    clearTimeout(this.timer);
    this.timer = null;
    this.redrawSoon();
  }

  async tick() {
    const { run } = this.journey;
    const began = performance.now();
    const steps = Math.max(Math.round(SPEEDS[this.speed] / MOST_TICKS), 1);
    const moved = await this.journey.go(run.stepPlace(steps));
    if (!this.isPlaying) return;
    const isOver = run.place >= run.log.stop;
    if (isOver) {
      this.timer = null;
      this.journey.note = "this is the end";
    }
    if (moved) await this.draw();
    if (isOver || !this.isPlaying) return;
    const pause = 1000 / Math.min(SPEEDS[this.speed], MOST_TICKS) - (performance.now() - began);
    this.timer = setTimeout(() => this.tick(), Math.max(pause, 4));
  }

  setSpeed(speed) {
    this.speed = clamp(speed, 0, SPEEDS.length - 1);
    this.journey.note = `${SPEEDS[this.speed]} steps a second`;
    this.redrawSoon();
  }

  // -- looking ---------------------------------------------------------------------------------------------

  ask(what) {
    if (!this.fields.inputs[what].offsetWidth) this.showMore(true);
    this.fields.ask(what);
  }

  // What was typed into a field; an empty answer clears it.
  async answer(what, text) {
    const { run } = this.journey;
    if (!text.trim()) {
      if (what === "filter") run.followed = null;
      if (what === "block") run.block = null;
      this.journey.note = "";
    } else if (!(await this.tried(() => this.answered(what, text)))) {
      this.controls.draw();
      return;
    }
    this.fields.inputs[what].blur();
    if (what !== "filter") this.fields.inputs[what].value = "";
    if (!this.options.page) this.element.focus();
    await this.draw();
  }

  async answered(what, text) {
    const { run } = this.journey;
    if (what === "goto") await this.absolutely(() => this.journey.go(run.placeTyped(text)));
    if (what === "filter") this.follow(run, run.requestTyped(text));
    if (what === "block") this.inspect(run.blockTyped(text));
  }

  // Only the events of the request or sample so called count from now on; asked again, all do.
  follow(run, name) {
    this.activate(run);
    run.followed = run.followed === name ? null : name;
    this.journey.note = run.followed === null ? "" : `following ${clean(name)}; Esc follows all again`;
    this.redrawSoon();
  }

  inspect(block) {
    const { run } = this.journey;
    run.block = block;
    this.journey.note = `inspecting ${blockName(block, run.state)}; Esc stops`;
    this.redrawSoon();
  }

  stopInspecting(run) {
    run.block = null;
    this.journey.note = "";
    this.redrawSoon();
  }

  nextBlock(direction) {
    const { run } = this.journey;
    const all = run.geometry[0] + run.geometry[2];
    this.inspect(run.block === null ? 0 : (run.block + direction + all) % all);
  }

  other(direction) {
    const { journey } = this;
    if (journey.shown.length < 2) journey.note = "there is one run; pagesim export A B -o both.html shows two";
    else journey.activate(direction > 0 ? 0 : 1);
    this.redrawSoon();
  }

  // Where there is little room, fields and jumps are there when somebody asks for them.
  showMore(isOn = !this.element.classList.contains("more-shown")) {
    this.element.classList.toggle("more-shown", isOn);
    this.moreButton.setAttribute("aria-expanded", String(isOn));
    this.redrawSoon();
  }

  // Undo the newest of: playing, the inspected block, the request one follows, a note.
  undo() {
    const { run } = this.journey;
    if (this.isPlaying) this.pause();
    else if (run.block !== null) run.block = null;
    else if (run.followed !== null) run.followed = null;
    this.journey.note = "";
  }

  // -- light and dark --------------------------------------------------------------------------------------

  setTheme(theme) {
    this.theme = theme;
    const shown = theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
    this.element.dataset.theme = shown;
    if (this.options.page) document.documentElement.style.colorScheme = shown;
    this.themeButton?.replaceChildren(icon(shown === "dark" ? "light" : "dark"));
    this.themeButton?.setAttribute("aria-label", shown === "dark" ? "light colours" : "dark colours");
  }

  toggleTheme() {
    const theme = this.element.dataset.theme === "dark" ? "light" : "dark";
    this.changeTheme(theme);
    if (this.options.page) keepTheme(theme);
  }

  changeTheme(theme) {
    this.options.theme = theme; // where it is not laid out yet
    this.setTheme(theme);
    this.redrawSoon();
  }

  // Paper is light.
  printed(isOn) {
    if (!this.journey) return;
    if (isOn) this.element.dataset.theme = "light";
    else this.setTheme(this.theme);
    this.draw();
  }

  systemTheme() {
    if (this.theme === null) this.setTheme(null);
    this.redrawSoon();
  }
}

// What the reader chose on a page before this one, or null; some browsers keep nothing for files.
function keptTheme() {
  try {
    const theme = localStorage.getItem(THEME_KEY);
    return ["light", "dark"].includes(theme) ? theme : null;
  } catch {
    return null;
  }
}

function keepTheme(theme) {
  try {
    localStorage.setItem(THEME_KEY, theme);
  } catch {
    // then it holds for this page alone
  }
}

// "#step=137" or "#event=345" as it would be typed; null: neither.
function placeAsked(hash) {
  const found = /(?:^#|&)(step|event)=(\d{1,15})(?:&|$)/.exec(hash);
  return found && (found[1] === "event" ? `e${found[2]}` : found[2]);
}

// "e345" or "12" in words.
function placeName(asked) {
  return asked.startsWith("e") ? `event ${asked.slice(1)}` : `step ${asked}`;
}

function helpDialog(level, player) {
  const sections = KEYS.map(({ title, keys }) => {
    const rows = keys.map(({ forward, reverse, words }) => el("tr", {},
      el("th", { scope: "row" }, ...keyCaps(forward)), el("td", {}, ...keyCaps(reverse)), el("td", {}, words)));
    return [el(`h${level + 1}`, {}, title), el("table", {}, el("tbody", {}, ...rows))];
  });
  const close = button("close", icon("close"), () => dialog.close(), { class: "quiet" });
  const head = el("div", { class: "heading" }, el(`h${level}`, {}, "Keys"), close);
  const letters = el("input", { type: "checkbox", checked: true, onchange: () => (player.hasLetters = letters.checked) });
  const choice = el("label", {}, letters, " letters and signs are keys (turn it off if you speak to your computer)");
  const mouse = el("p", {}, HELP);
  const dialog = el("dialog", { class: "help", "aria-label": "Keys" }, head, ...sections.flat(), choice, mouse);
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  return dialog;
}

const HELP =
  "Click a block to inspect it, an event or the timeline to go there, a request to follow it. What the last event "
  + "touched is framed. Each sequence has a letter and a colour; what is filled is solid, what is held and empty is "
  + "hatched. Blocks h0, h1, … are the host's. The address of the page tells the place, whom "
  + "you follow and which block you inspect: share it.";

function keyCaps(keys) {
  return shownKeys(keys).flatMap((key) => [el("kbd", {}, key), " "]);
}
