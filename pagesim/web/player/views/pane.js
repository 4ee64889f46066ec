// One run's part of the page: whose run it is, where one is in it and why, and its views.

import { el, nameOf } from "../dom.js";
import { clean, counted } from "../words.js";
import { MomentBar, WasteView } from "./bars.js";
import { EVENT_ROWS, EventsView } from "./events.js";
import { FreeBlocksView } from "./free_blocks.js";
import { InspectorView } from "./inspector.js";
import { MemoryView } from "./memory.js";
import { QueuesView } from "./queues.js";
import { placeWords } from "./strip.js";
import { TablesView } from "./tables.js";
import { TimelineView } from "./timeline.js";

const BEGIN = "The run has not begun. The right arrow goes to the first event, the down arrow to the first step.";

export class RunPane {
  // `at` says which of the runs beside each other it is; `level` is that of its headings.
  constructor(page, run, at, level) {
    this.page = page;
    this.run = run;
    this.at = at;
    const memory = new MemoryView(page, run, level + 1);
    const moment = new MomentBar(run);
    memory.element.append(moment.element);
    const queues = new QueuesView(page, run, level + 1);
    const inspector = new InspectorView(page, run, level + 1);
    const events = new EventsView(page, run, level + 1);
    const tables = new TablesView(page, run, level + 1);
    const free = new FreeBlocksView(page, run, level + 1);
    const timeline = new TimelineView(page, run, level + 1);
    const waste = new WasteView(page, run, level + 1);
    this.views = [memory, moment, queues, inspector, events, tables, free, timeline, waste];
    this.where = el("p", { class: "where" });
    this.label = el("span", { class: "label" });
    this.sentence = el("p", { class: "sentence" });
    this.live = el("div", { class: "said-now", "aria-live": "polite", "aria-atomic": "true" }, this.label, this.sentence);
    const about = el("div", { class: "about" }, this.heading(level), this.where, this.live, this.notes());
    const stage = el("div", { class: "stage" }, memory.element, tables.element, free.element, timeline.element);
    const side = el("div", { class: "side" }, inspector.element, queues.element, events.element, waste.element);
    const views = el("div", { class: "views" }, stage, side);
    this.element = el("section", { class: "run", "aria-label": this.title() }, about, views);
    this.element.addEventListener("pointerdown", () => page.activate(run));
  }

  // Of two runs of one name, each with its side.
  title() {
    const names = this.page.journey.shownRuns.map(({ name }) => name);
    const side = names.length > 1 && names[0] === names[1] ? `, ${this.at ? "right" : "left"}` : "";
    return `Run ${clean(this.run.name)}${side}`;
  }

  heading(level) {
    const { page, run } = this;
    const allocator = run.payload.allocator === run.name ? "" : run.payload.allocator;
    const about = [allocator, sizeWords(run), run.payload.title].filter(Boolean).map(clean).join(", ");
    const title = el(`h${level}`, {}, nameOf(clean(run.name)), " ", el("small", {}, nameOf(about)));
    if (page.journey.runs.length < 3) return title;
    const choice = el("select", { "aria-label": this.at ? "The run on the right" : "The run on the left" });
    page.journey.runs.forEach((other, number) => choice.append(el("option", { value: number }, clean(other.name))));
    choice.value = page.journey.shown[this.at];
    choice.addEventListener("change", () => page.show(this.at, Number(choice.value)));
    return el("div", { class: "choice" }, title, choice);
  }

  notes() {
    const notes = this.run.payload.notes.map((note) => el("p", { class: "warning" }, note));
    return notes.length ? el("div", { role: "note" }, ...notes) : null;
  }

  // When what `draw` tells of is unpacked: so that all of it is drawn at once.
  ready() {
    const { run } = this;
    const places = run.placesAround(EVENT_ROWS);
    if (run.cursor.event !== null) places.push(run.place);
    const asked = places.flatMap((place) => [run.log.event(place), run.log.sentence(place)]);
    return Promise.allSettled(asked); // what is damaged is told of where it is drawn
  }

  async draw() {
    const { run } = this;
    this.element.classList.toggle("active", run === this.page.journey.run);
    this.where.replaceChildren(...placeWords(run).split(", ").map((words, at) => el(at ? "span" : "strong", {}, words)));
    await this.say();
    await Promise.all(this.views.map((view) => drawn(view)));
  }

  async say() {
    const { run } = this;
    const { place, event } = run.cursor;
    this.live.setAttribute("aria-live", this.page.isPlaying ? "off" : "polite");
    const begun = event !== null;
    const told = begun ? await run.log.sentence(place) : clean(run.payload.look_for).slice(0, 600);
    if (place !== run.place) return;
    const label = begun ? this.page.labels[event[0]] ?? clean(event[0]) : told ? "look for" : "";
    const sentence = told || (begun ? "" : BEGIN);
    if (this.label.textContent !== label) this.label.textContent = label;
    if (this.sentence.textContent !== sentence) this.sentence.textContent = sentence;
  }
}

// A view that fails does not keep the others from being drawn.
async function drawn(view) {
  try {
    await view.draw();
  } catch (error) {
    reportError(error);
  }
}

function sizeWords(run) {
  const [numBlocks, size] = run.geometry;
  return size > 1 ? `${counted(numBlocks, "block")} of ${counted(size, "slot")}` : counted(numBlocks, "slot");
}
