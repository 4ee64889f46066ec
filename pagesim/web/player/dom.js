// Elements made from plain values. What comes from a log gets in as text alone: nothing here reads markup.

const SVG = "http://www.w3.org/2000/svg";

// el("button", {class: "go", onclick: f, "aria-label": "play"}, child, "text", ...)
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null) element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((child) => child !== null));
  return element;
}

// A name from a log: set apart, so that its direction of writing does not turn the line about.
export function nameOf(text, attributes = {}) {
  return el("bdi", attributes, text);
}

const PATHS = {
  start: "M5 4h2v16H5zM20 4v16L9 12z",
  stepBack: "M12 4v16L2 12zM22 4v16L12 12z",
  eventBack: "M17 4v16L6 12z",
  play: "M6 3.5v17L20 12z",
  pause: "M6 4h4.5v16H6zM13.5 4H18v16h-4.5z",
  event: "M7 4v16l11-8z",
  step: "M2 4v16l10-8zM12 4v16l10-8z",
  end: "M17 4h2v16h-2zM4 4v16l11-8z",
  previous: "M15 5l1.6 1.6L11.2 12l5.4 5.4L15 19l-7-7z",
  next: "M9 5L7.4 6.6l5.4 5.4-5.4 5.4L9 19l7-7z",
  close: "M6.4 5L12 10.6 17.6 5 19 6.4 13.4 12l5.6 5.6-1.4 1.4L12 13.4 6.4 19 5 17.6 10.6 12 5 6.4z",
  find: "M10 3a7 7 0 1 0 4.2 12.6l5.1 5.1 1.4-1.4-5.1-5.1A7 7 0 0 0 10 3zm0 2a5 5 0 1 1 0 10 5 5 0 0 1 0-10z",
  dark: "M20 14.5A8.5 8.5 0 0 1 9.5 4 8.5 8.5 0 1 0 20 14.5z",
  light: "M12 7a5 5 0 1 0 0 10 5 5 0 0 0 0-10zM11 1h2v4h-2zM11 19h2v4h-2zM1 11h4v2H1zM19 11h4v2h-4zM4.2 2.8l2.9 2.9-1.4 1.4-2.9-2.9zM18.3 16.9l2.9 2.9-1.4 1.4-2.9-2.9zM19.8 2.8l1.4 1.4-2.9 2.9-1.4-1.4zM5.7 16.9l1.4 1.4-2.9 2.9-1.4-1.4z",
};

export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", PATHS[name]);
  svg.append(path);
  return svg;
}

export function button(label, shown, onclick, attributes = {}) {
  return el("button", { type: "button", "aria-label": label, title: label, onclick, ...attributes }, shown);
}
