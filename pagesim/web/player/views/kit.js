// What several views need: letters and colours, panels, canvases that are sharp, rows that fit.

import { el, nameOf } from "../dom.js";
import { clean, shownNumber } from "../words.js";

// A part of the screen with a heading. `note` is an element beside the heading.
export function panel(title, level, ...children) {
  const note = el("span", { class: "note" });
  const heading = el("div", { class: "heading" }, el(`h${level}`, {}, title), note);
  const element = el("section", { class: "panel" }, heading, ...children);
  return { element, note };
}

// Letters and colours of sequences: pagesim.views.palette's.
export class Look {
  constructor(payload) {
    this.letters = payload.letters;
    this.colors = payload.owner_colors;
    this.kinds = payload.kinds.map(([name, color, meaning]) => ({ name, color, meaning }));
  }

  letter(seq) {
    return this.letters[seq % this.letters.length];
  }

  color(seq) {
    return this.colors[seq % this.colors.length];
  }

  // A sequence's letter in its colour; its name stands beside it.
  chip(seq, solid = true) {
    const chip = el("span", { class: solid ? "chip" : "chip hollow", "aria-hidden": "true" }, this.letter(seq));
    chip.style.setProperty("--owner", this.color(seq));
    return chip;
  }

  // Letter and name.
  named(view, attributes = {}) {
    const name = nameOf(clean(view.name), { class: "name", title: clean(view.name) });
    return el("span", { class: "who", ...attributes }, this.chip(view.seq, view.status === "running"), name);
  }
}

// The canvas in so many CSS pixels, sharp on any screen; its context, cleared.
export function fitted(canvas, width, height) {
  const ratio = Math.min(window.devicePixelRatio || 1, 3);
  const pixels = [Math.max(Math.round(width * ratio), 1), Math.max(Math.round(height * ratio), 1)];
  if (canvas.width !== pixels[0] || canvas.height !== pixels[1]) [canvas.width, canvas.height] = pixels;
  canvas.style.height = `${height}px`;
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  return pen;
}

// The colours of the theme, as the style sheet has them.
export function themeOf(element) {
  const style = getComputedStyle(element);
  const names = ["ink", "dim", "line", "panel", "free", "changed", "accent"];
  return Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

// Which of `count` rows to show where `room` fit: the first ones, or those around `focus`.
export function rowWindow(count, room, focus = -1) {
  if (count <= room) return [0, count];
  const start = focus >= room ? Math.min(focus - (room >> 1), count - room) : 0;
  return [start, start + room];
}

// "and 37 more", "3 before, 34 after"; null if nothing is left out.
export function leftOut(count, [start, stop]) {
  const after = count - stop;
  const parts = [];
  if (start) parts.push(`${shownNumber(start)} before`);
  if (after) parts.push(start ? `${shownNumber(after)} after` : `and ${shownNumber(after)} more`);
  return parts.length ? el("p", { class: "more" }, parts.join(", ")) : null;
}

// Diagonal lines over a rectangle: what is held and holds nothing.
export function hatch(pen, x, y, width, height, color, gap = 4, turned = false) {
  pen.save();
  pen.beginPath();
  pen.rect(x, y, width, height);
  pen.clip();
  pen.strokeStyle = color;
  pen.lineWidth = 1;
  pen.beginPath();
  for (let at = -height; at < width; at += gap) {
    pen.moveTo(x + at, turned ? y : y + height);
    pen.lineTo(x + at + height, turned ? y + height : y);
  }
  pen.stroke();
  pen.restore();
}
