// The memory over the whole run as a stacked strip, and the slider below it that moves through the run.
//
// What is free is left blank. Ticks below are the events that one can jump to.

import { el } from "../dom.js";
import { clamp, counted, duration, shownNumber } from "../words.js";
import { fitted, hatch, themeOf } from "./kit.js";

const HEIGHT = 44;
const TICKS = 6;
const THUMB = 16; // the slider's, as the style sheet has it

export class StripView {
  constructor(page) {
    this.page = page;
    this.canvas = el("canvas", { class: "strip", "aria-hidden": "true" });
    this.slider = el("input", { type: "range", min: "0", step: "1", class: "scrub", "aria-label": "Place in the run" });
    this.slider.addEventListener("input", () => this.slid());
    this.slider.addEventListener("pointerup", () => this.slider.blur()); // keys are the page's again
    this.canvas.addEventListener("pointerdown", (event) => this.pressed(event));
    this.canvas.addEventListener("pointermove", (event) => event.buttons && this.pressed(event));
    this.element = el("div", { class: "strip-box" }, this.canvas, this.slider);
    this.group = "preemption";
  }

  get run() {
    return this.page.journey.run;
  }

  slid() {
    this.page.go(this.run, this.run.placeOfStop(Number(this.slider.value)));
  }

  pressed(event) {
    const { run } = this;
    if (!run.steps.length) return;
    this.canvas.setPointerCapture(event.pointerId);
    const width = this.canvas.clientWidth - THUMB;
    const at = Math.floor(((event.offsetX - THUMB / 2) * run.numStops) / width);
    this.page.go(run, run.placeOfStop(clamp(at, 0, run.numStops - 1)));
  }

  draw() {
    const { run } = this;
    this.slider.max = String(run.numStops - 1);
    this.slider.value = String(run.stop);
    this.slider.setAttribute("aria-valuetext", placeWords(run));
    const width = this.canvas.clientWidth;
    if (!width) return;
    const pen = fitted(this.canvas, width, HEIGHT + TICKS);
    const theme = themeOf(this.element);
    pen.translate(THUMB / 2, 0);
    this.layers(pen, width - THUMB, theme);
    this.ticks(pen, width - THUMB, theme);
    this.here(pen, width - THUMB, theme);
  }

  // Where a stop of the slider stands, in pixels.
  x(stop, width) {
    return (stop * width) / Math.max(this.run.numStops - 1, 1);
  }

  // From the bottom: used, reserved, internal; from the top: external. A column shows the most used of its steps.
  layers(pen, width, theme) {
    const { run } = this;
    const whole = run.geometry[0] * run.geometry[1];
    const { used, reserved, internal, external } = run.waste;
    const columns = Math.max(Math.min(Math.floor(width), run.steps.length), 1);
    const [left, right] = [this.x(0.5, width), this.x(run.steps.length + 0.5, width)];
    pen.strokeStyle = theme.line;
    pen.strokeRect(0.5, 0.5, width - 1, HEIGHT - 1);
    for (let column = 0; column < columns && run.steps.length; column++) {
      const first = Math.floor((column * run.steps.length) / columns);
      const stop = Math.max(Math.floor(((column + 1) * run.steps.length) / columns), first + 1);
      let at = first;
      for (let i = first; i < stop; i++) if (used[i] + reserved[i] > used[at] + reserved[at]) at = i;
      const x = left + (column * (right - left)) / columns;
      const parts = [used[at], reserved[at], internal[at]].map((slots) => (slots * (HEIGHT - 2)) / whole);
      drawColumn(pen, x, Math.max((right - left) / columns, 1), parts, (external[at] * (HEIGHT - 2)) / whole, this.page.look.kinds);
    }
    hatch(pen, left, 1, right - left, 0, theme.line);
  }

  ticks(pen, width, theme) {
    const places = this.run.jumps.get(this.group) ?? [];
    pen.fillStyle = theme.changed;
    for (const place of places) {
      const step = this.run.stepAt(place);
      const stop = step === null ? 0 : step - this.run.payload.first_step + 1;
      pen.fillRect(this.x(stop, width) - 0.75, HEIGHT + 1, 1.5, TICKS - 1);
    }
  }

  here(pen, width, theme) {
    pen.fillStyle = theme.ink;
    pen.fillRect(this.x(this.run.stop, width) - 1, 0, 2, HEIGHT + TICKS);
  }
}

function drawColumn(pen, x, width, parts, external, kinds) {
  let y = HEIGHT - 1;
  parts.forEach((height, kind) => {
    pen.fillStyle = kinds[kind].color;
    pen.globalAlpha = [1, 0.55, 0.8][kind];
    pen.fillRect(x, y - height, width + 0.5, height);
    y -= height;
  });
  pen.fillStyle = kinds[3].color;
  pen.globalAlpha = 0.6;
  pen.fillRect(x, 1, width + 0.5, external);
  pen.globalAlpha = 1;
}

// "step 12 of 22, event 40 of 144, 1.200 s"
export function placeWords(run) {
  const { step, place, state } = run;
  const last = run.payload.num_steps - 1;
  let words = "before step 0";
  if (step !== null) words = `${state.in_step ? "step" : "after step"} ${shownNumber(step)} of ${shownNumber(last)}`;
  const parts = [words, `event ${shownNumber(place)} of ${shownNumber(run.payload.total)}`, duration(state.time_ns)];
  parts.push(`${shownNumber(state.num_finished)} finished`);
  if (state.num_preemptions) parts.push(counted(state.num_preemptions, "preemption"));
  return parts.join(", ");
}
