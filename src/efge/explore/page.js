// The page as a whole: its state, what changes it, and what is drawn again then.

const system = matchMedia("(prefers-color-scheme: dark)");

function pick(row, { center = false, focus = false } = {}) {
  state.picked = row;
  state.pointed = -1;
  hideTip();
  drawNode();
  drawMarks();
  say(`${names[row]} picked, ${plural(nearestTo(row).length, "neighbor")} listed`);
  if (focus) part("near").querySelector("button")?.focus();
  if (center) centerOn(row);
}

function forget() {
  state.picked = state.pointed = -1;
  hideTip();
  drawNode();
  drawMarks();
}

// No selection is null; a selection without nodes is none.
function select(rows) {
  state.selected = rows.length ? new Set(rows) : null;
  drawSelection();
  say(state.selected ? `${plural(state.selected.size, "node")} selected` : "Nothing selected");
  return drawMap();
}

// After the drag that selected them: plotly first finishes with its own outline.
function selectLater(rows) {
  setTimeout(() => select(rows));
}

function colorBy(number) {
  state.column = number;
  state.hidden.clear();
  drawLegend();
  return drawMap();
}

function toggleSlot(slot) {
  state.hidden.has(slot) ? state.hidden.delete(slot) : state.hidden.add(slot);
  part("legend").querySelector(`[data-slot="${slot}"]`).setAttribute("aria-pressed", String(!state.hidden.has(slot)));
  return drawMap();
}

function showSlots(areShown) {
  const slots = legendEntries(columns[state.column]).map(({ slot }) => slot);
  state.hidden = new Set(areShown ? [] : slots);
  drawLegend();
  return drawMap();
}

function setMode(mode) {
  state.mode = mode;
  document.querySelectorAll("[data-mode]").forEach((button) => {
    button.setAttribute("aria-pressed", String(button.dataset.mode === mode));
  });
  return Plotly.relayout(mapElement, { dragmode: mode });
}

function setTheme(isDark) {
  state.dark = isDark;
  document.documentElement.dataset.theme = isDark ? "dark" : "light";
  part("theme").setAttribute("aria-pressed", String(isDark));
}

async function redrawInTheme(isDark) {
  setTheme(isDark);
  drawLegend();
  await drawMap();
  drawMarks();
}

function mapKey(event) {
  const moves = { ArrowLeft: [1, -0.1, 0], ArrowRight: [1, 0.1, 0], ArrowUp: [1, 0, 0.1], ArrowDown: [1, 0, -0.1] };
  const zooms = { "+": [0.7, 0, 0], "=": [0.7, 0, 0], "-": [1 / 0.7, 0, 0] };
  const move = moves[event.key] ?? zooms[event.key];
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (move) moveView(...move);
  else if (event.key === "0") setView(whole.x, whole.y);
  else return;
  event.preventDefault();
}

function pageKey(event) {
  if (event.key !== "Escape" || event.defaultPrevented) return;
  forget();
  if (state.selected) select([]);
}

function listenToMap() {
  const rowsOf = (event) => event.points.map(({ pointIndex }) => shown[pointIndex]);
  mapElement.on("plotly_hover", (event) => {
    const [row] = rowsOf(event);
    pointAt(row);
    showTip(row);
  });
  mapElement.on("plotly_unhover", stopPointing);
  mapElement.on("plotly_click", (event) => pick(rowsOf(event)[0]));
  mapElement.on("plotly_selected", (event) => event && !state.drawing && selectLater(rowsOf(event)));
  mapElement.on("plotly_deselect", () => !state.drawing && selectLater([]));
  mapElement.on("plotly_relayouting", stopPointing);
  mapElement.on("plotly_relayout", rememberView);
  mapElement.on("plotly_afterplot", drawMarks);
  mapElement.addEventListener("keydown", mapKey);
  mapElement.addEventListener("pointerdown", stopPointing, { capture: true });
}

function listenToPanel() {
  search.addEventListener("input", drawMatches);
  search.addEventListener("keydown", searchKey);
  search.addEventListener("focus", () => openMatches(matched.length > 0 && search.value.trim() !== ""));
  search.addEventListener("blur", () => setTimeout(() => openMatches(false), 200));
  ["near", "legend"].forEach((id) => part(id).addEventListener("keydown", listKey));
  part("column").addEventListener("change", (event) => colorBy(Number(event.target.value)));
  listenToButtons({
    "forget": forget,
    "select-near": () => select([state.picked, ...nearestTo(state.picked).map(({ row }) => row)]),
    "show-all": () => showSlots(true),
    "hide-all": () => showSlots(false),
    "export": saveNames,
    "copy": copyNames,
    "drop": () => select([]),
    "theme": () => redrawInTheme(!state.dark),
    "closer": () => moveView(0.7, 0, 0),
    "farther": () => moveView(1 / 0.7, 0, 0),
    "fit": () => setView(whole.x, whole.y),
  });
}

function listenToButtons(actions) {
  Object.entries(actions).forEach(([id, action]) => part(id).addEventListener("click", action));
  document.querySelectorAll("[data-mode]").forEach((button) => {
    button.addEventListener("click", () => setMode(button.dataset.mode));
  });
}

function aboutText() {
  const parts = [plural(count, "node"), links && plural(links.edges, "edge"), data.map.about];
  return parts.filter(Boolean).join(" · ");
}

const state = {
  column: 0,
  hidden: new Set(), // slots of the column
  picked: -1,
  pointed: -1,
  selected: null,
  mode: "pan",
  dark: false,
  view: whole,
  drawing: 0, // how many times at once; while plotly draws, it tells of selections that nobody made
};

// For scripts, and for tests, that want to know what is where.
window.explorer = { state, names, placeOf, drawnRows: () => Array.from(shown) };

setTheme(system.matches);
system.addEventListener("change", (event) => redrawInTheme(event.matches));
part("about").textContent = aboutText();
fillColumns();
drawLegend();
drawSelection();
listenToPanel();
await drawMap();
listenToMap();
document.addEventListener("keydown", pageKey);
document.body.dataset.ready = "true";
