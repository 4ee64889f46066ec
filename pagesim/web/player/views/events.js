// The events around the place one is at, a line each, with the sentence that explains it.

import { el } from "../dom.js";
import { clean, shownNumber } from "../words.js";
import { panel } from "./kit.js";

export const EVENT_ROWS = 9;

export class EventsView {
  constructor(page, run, level) {
    this.page = page;
    this.run = run;
    this.list = el("ol", { class: "events" });
    this.drawn = 0;
    const { element, note } = panel("Events", level, this.list);
    this.element = element;
    this.note = note;
    this.element.classList.add("event-list");
  }

  async draw() {
    const { run } = this;
    const drawn = ++this.drawn;
    const places = run.placesAround(EVENT_ROWS);
    const told = await Promise.all(places.map(async (place) => [
      place, await run.log.event(place), await run.log.sentence(place),
    ]));
    if (drawn !== this.drawn) return;
    this.list.style.setProperty("--digits", `${String(run.log.stop).length + 1}ch`);
    this.note.textContent = run.followed === null ? "" : `only those of ${clean(run.followed)}`;
    const held = this.list.contains(document.activeElement) ? document.activeElement.dataset.place : null;
    this.list.replaceChildren(...told.map(([place, event, sentence]) => this.line(place, event, sentence)));
    if (held !== null) (this.list.querySelector(`[data-place="${held}"]`) ?? this.list.querySelector("[aria-current]"))?.focus();
  }

  line(place, event, sentence) {
    const here = place === this.run.place;
    const go = () => this.page.go(this.run, place);
    const label = this.page.labels[event[0]] ?? clean(event[0]);
    const line = el("button", { type: "button", "data-place": place, "aria-current": here ? "true" : null, onclick: go },
      el("span", { class: "place" }, shownNumber(place)),
      el("span", { class: "step" }, stepWords(this.run, place)),
      el("span", { class: "label" }, label),
      el("span", { class: "sentence" }, sentence));
    return el("li", {}, line);
  }
}

function stepWords(run, place) {
  const step = run.stepAt(place);
  if (step === null) return "start";
  return `${run.isBetween(place) ? "after" : "step"} ${shownNumber(step)}`;
}
