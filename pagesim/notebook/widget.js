// The player as a notebook's widget (anywidget). What stands above it here is the player itself, with `mount`.
//
// `event`, the number of events behind the place, is what browser and Python have in common; Python keeps `step` true
// to it. Keys that are pressed in the player stay there: a notebook's own would move its cells.

function notebookTheme() {
  const { jpThemeLight, vscodeThemeKind } = document.body.dataset;
  if (jpThemeLight) return jpThemeLight === "true" ? "light" : "dark";
  if (vscodeThemeKind) return vscodeThemeKind.includes("dark") ? "dark" : "light";
  return null;
}

function render({ model, el }) {
  const box = document.createElement("div");
  box.className = "pagesim-widget";
  box.addEventListener("keydown", (event) => {
    if (!event.ctrlKey && !event.metaKey && !event.altKey) event.stopPropagation();
  });
  box.style.height = `${model.get("height")}px`;
  el.append(box);

  const chosen = model.get("theme") || null;
  const player = mount(box, model.get("payload"), {
    event: model.get("event"),
    level: 3,
    theme: chosen ?? notebookTheme(),
    onChange: ({ run, place, step }) => {
      if (model.get("event") === place && model.get("run") === run) return;
      model.set({ run, event: place, step });
      model.save_changes();
    },
  });

  const follow = () => {
    if (player.place !== null && player.place !== model.get("event")) player.seek(model.get("event"));
  };
  model.on("change:event", follow);
  player.ready.then(follow);
  const watcher = new MutationObserver(() => player.setTheme(notebookTheme()));
  if (!chosen) watcher.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light", "data-vscode-theme-kind"] });
  return () => {
    model.off("change:event", follow);
    watcher.disconnect();
    player.destroy();
  };
}

export default { render };
