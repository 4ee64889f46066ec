// The block that is inspected: who holds it now, and what happened to it, newest first.

import { blockName } from "../blocks.js";
import { button, el, icon } from "../dom.js";
import { isRun, lists } from "../state.js";
import { clean, shownNumber } from "../words.js";
import { panel } from "./kit.js";

const MOST_DEEDS = 8;

export class InspectorView {
  constructor(page, run, level) {
    this.page = page;
    this.run = run;
    this.now = el("p", { class: "now" });
    this.list = el("ol", { class: "events" });
    this.drawn = 0;
    const { element, note } = panel("Block", level, this.now, this.list);
    this.element = element;
    this.element.classList.add("inspector");
    this.title = element.querySelector(`h${level}`);
    note.append(button("stop inspecting the block", icon("close"), () => page.stopInspecting(run), { class: "quiet" }));
  }

  async draw() {
    const { run } = this;
    const drawn = ++this.drawn;
    this.element.hidden = run.block === null;
    if (run.block === null) return;
    const unit = run.geometry[1] > 1 ? "Block" : "Slot";
    this.title.textContent = `${unit} ${blockName(run.block, run.state)}`;
    this.now.textContent = presentWords(run.state, run.block);
    this.list.style.setProperty("--digits", `${String(run.log.stop).length + 1}ch`);
    const places = await run.placesOfBlock(run.block, MOST_DEEDS);
    const told = await Promise.all(places.map(async (place) => [place, await run.log.event(place), await run.log.sentence(place)]));
    if (drawn !== this.drawn) return;
    this.list.replaceChildren(...told.map(([place, event, sentence]) => this.line(place, event, sentence)));
  }

  line(place, event, sentence) {
    const step = this.run.stepAt(place);
    const go = () => this.page.go(this.run, place);
    return el("li", {}, el("button", { type: "button", onclick: go },
      el("span", { class: "place" }, shownNumber(place)),
      el("span", { class: "step" }, step === null ? "start" : `step ${shownNumber(step)}`),
      el("span", { class: "label" }, this.page.labels[event[0]] ?? clean(event[0])),
      el("span", { class: "sentence" }, sentence)));
  }
}

// Who holds it, or that it is free.
function presentWords(state, block) {
  const holders = [...state.sequences.values()].filter(({ table }) => lists(table, block));
  if (!holders.length) {
    return state.cached.has(block) ? "Free, and its content can still be found." : "Free.";
  }
  const parts = holders.slice(0, 8).map((view) => {
    const name = clean(view.name);
    if (isRun(view.table)) return `${name} holds it`;
    const at = view.table.indexOf(block);
    const filled = Math.min(Math.max(view.written - at * state.blockSize, 0), state.blockSize);
    return `${name} holds it as logical block ${shownNumber(at)}, ${filled} of ${state.blockSize} slots filled`;
  });
  if (holders.length > 8) parts.push(`and ${holders.length - 8} more`);
  return `${parts.join("; ")}.`;
}
