// Lanes over the steps, one a sequence: waiting, prefill, decoding, preempted, on the host.
//
// Phases differ in height and pattern as well as in colour. The lanes come from Python with the run.

import { el } from "../dom.js";
import { bisectRight, clamp, clean, shownNumber } from "../words.js";
import { fitted, hatch, leftOut, panel, themeOf } from "./kit.js";

const LANE_ROWS = 14;
const ROW_HEIGHT = 20;
const TOP = 18;
const NEAR = 160; // steps shown of a long run
const KINDS = { waiting: 4, prefill: 1, decoding: 0, preempted: 3, swapped: 2 }; // whose colour
const WORDS = { waiting: "waiting", prefill: "prefill", decoding: "decoding", preempted: "preempted", swapped: "on the host" };

export class TimelineView {
  constructor(page, run, level) {
    this.page = page;
    this.run = run;
    this.names = Object.fromEntries(Object.entries(page.phases).map(([name, value]) => [value, name]));
    this.labels = el("ul", { class: "lane-names" });
    this.canvas = el("canvas", { role: "img", "aria-label": "", onclick: (event) => this.clicked(event) });
    this.rest = el("div");
    const lanes = el("div", { class: "lanes" }, this.labels, el("div", { class: "lane-canvas" }, this.canvas));
    const legend = Object.entries(WORDS).map(([name, words]) => el("span", {}, el("i", { class: `swatch phase-${name}` }), words));
    const { element, note } = panel("Timeline", level, lanes, this.rest, el("p", { class: "legend" }, ...legend));
    this.element = element;
    this.element.classList.add("timeline");
    this.near = run.steps.length > NEAR;
    if (this.near) note.append(this.toggle());
  }

  toggle() {
    const box = el("input", { type: "checkbox", onchange: () => {
      this.near = !box.checked;
      this.draw();
    } });
    return el("label", {}, box, " the whole run");
  }

  // Steps from the first up to, not including, the last that is shown.
  range() {
    const first = this.run.payload.first_step;
    const count = this.run.steps.length;
    if (!this.near) return [first, first + count];
    const here = this.run.stepPosition ?? 0;
    const start = first + clamp(here - (NEAR >> 1), 0, count - NEAR);
    return [start, start + NEAR];
  }

  // All, or of many those that do more than wait in the steps shown: from the first that is there at this step on, or
  // with a focus those around it.
  rows() {
    const [first, stop] = this.range();
    const { focus } = this.run;
    let all = [...this.run.lanes];
    if (all.length > LANE_ROWS) all = all.filter(([seq, { flat }]) => seq === focus || this.isBusy(flat, first, stop));
    if (all.length <= LANE_ROWS) return { rows: all, shown: [0, all.length], count: all.length };
    const step = this.run.step ?? first;
    const focused = focus === null ? -1 : all.findIndex(([seq]) => seq === focus);
    let start = focused >= 0 ? focused - (LANE_ROWS >> 1) : all.findIndex(([, { flat }]) => phaseAt(flat, step) !== null);
    start = clamp(start, 0, all.length - LANE_ROWS);
    return { rows: all.slice(start, start + LANE_ROWS), shown: [start, start + LANE_ROWS], count: all.length };
  }

  isBusy(flat, first, stop) {
    for (let at = 0; at + 2 < flat.length && flat[at] < stop; at += 2) {
      const waits = ["waiting", "preempted"].includes(this.names[flat[at + 1]]);
      if (flat[at + 2] > first && !waits) return true;
    }
    return false;
  }

  draw() {
    const { rows, shown, count } = this.rows();
    this.labels.replaceChildren(...rows.map(([seq, { name }]) => {
      const item = el("li", { class: seq === this.run.focus ? "focus" : "", onclick: () => this.page.follow(this.run, name) });
      item.append(this.page.look.named({ seq, name: clean(name), status: "running" }));
      return item;
    }));
    this.rest.replaceChildren(...[leftOut(count, shown)].filter(Boolean));
    const width = this.canvas.clientWidth;
    if (!width) return;
    const [first, stop] = this.range();
    this.shown = { first, stop, width };
    const pen = fitted(this.canvas, width, TOP + Math.max(rows.length, 1) * ROW_HEIGHT + 2);
    const theme = themeOf(this.element);
    rows.forEach(([, { flat }], at) => this.lane(pen, flat, TOP + at * ROW_HEIGHT, theme));
    this.here(pen, theme, rows.length);
    this.canvas.setAttribute("aria-label", this.inWords(rows));
  }

  x(step) {
    const { first, stop, width } = this.shown;
    return ((step - first) * width) / Math.max(stop - first, 1);
  }

  lane(pen, flat, top, theme) {
    const { first, stop } = this.shown;
    const rare = [];
    for (let at = 0; at + 2 < flat.length; at += 2) {
      const [from, phase, to] = [flat[at], this.names[flat[at + 1]], flat[at + 2]];
      if (to <= first || from >= stop) continue;
      const span = [pen, phase, this.x(Math.max(from, first)), this.x(Math.min(to, stop)), top, theme, this.page.look];
      if (phase === "preempted" || phase === "swapped") rare.push(span);
      else drawPhase(...span);
    }
    for (const span of rare) drawPhase(...span); // shown however short
  }

  here(pen, theme, count) {
    const step = this.run.step;
    const { first, stop, width } = this.shown;
    if (step === null || step < first || step >= stop) return;
    const left = this.x(step);
    const right = Math.max(this.x(step + 1), left + 2);
    pen.fillStyle = theme.accent;
    pen.globalAlpha = 0.22;
    pen.fillRect(left, TOP - 4, right - left, count * ROW_HEIGHT + 4);
    pen.globalAlpha = 1;
    pen.fillRect(left, TOP - 6, right - left, 3);
    pen.font = "11px system-ui, sans-serif";
    pen.textBaseline = "middle";
    pen.fillStyle = theme.ink;
    pen.textAlign = left > width / 2 ? "right" : "left";
    pen.fillText(`step ${shownNumber(step)}`, clamp(left > width / 2 ? right : left, 0, width), 6);
  }

  inWords(rows) {
    const step = this.run.step;
    if (step === null) return "Timeline: no step has run yet";
    const parts = rows.map(([, { name, flat }]) => {
      const phase = phaseAt(flat, step);
      return phase === null ? null : `${clean(name)} ${WORDS[this.names[phase]]}`;
    });
    return `Timeline, step ${step}: ${parts.filter(Boolean).join(", ")}`;
  }

  clicked(event) {
    const { first, stop, width } = this.shown;
    const step = first + Math.floor((event.offsetX * (stop - first)) / width);
    const at = clamp(step - this.run.payload.first_step, 0, this.run.steps.length - 1);
    this.page.go(this.run, this.run.steps[at]);
  }
}

// What a sequence did in a step; null: it was not there.
function phaseAt(flat, step) {
  const starts = flat.filter((_, at) => at % 2 === 0);
  const at = bisectRight(starts, step) - 1;
  return at < 0 || at === starts.length - 1 ? null : flat[2 * at + 1];
}

function drawPhase(pen, phase, left, right, top, theme, look) {
  const width = Math.max(right - left - (right - left > 6 ? 1 : 0), 1.5);
  const color = look.kinds[KINDS[phase]].color;
  const middle = top + ROW_HEIGHT / 2;
  pen.fillStyle = color;
  pen.strokeStyle = color;
  pen.lineWidth = 1;
  if (phase === "decoding") {
    pen.fillRect(left, top + 4, width, ROW_HEIGHT - 8);
  } else if (phase === "prefill") {
    hatch(pen, left, top + 2, width, ROW_HEIGHT - 4, color, 4);
    if (width > 3) pen.strokeRect(left + 0.5, top + 2.5, width - 1, ROW_HEIGHT - 5);
  } else if (phase === "waiting") {
    for (let x = left; x < right - 0.5; x += 6) pen.fillRect(x, middle - 1, Math.min(2, right - x), 2);
  } else if (phase === "preempted") {
    pen.fillRect(left, middle - 1, width, 2);
    for (let x = left; x < right - 1; x += 7) {
      pen.beginPath();
      pen.moveTo(x, middle - 4);
      pen.lineTo(Math.min(x + 7, right), middle + 4);
      pen.moveTo(x, middle + 4);
      pen.lineTo(Math.min(x + 7, right), middle - 4);
      pen.stroke();
    }
  } else {
    pen.fillRect(left, middle - 5, width, 2);
    pen.fillRect(left, middle + 3, width, 2);
  }
}
