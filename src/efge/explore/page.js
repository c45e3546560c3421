// The state of the page, the actions that change it, and the events that call them.

const system = matchMedia("(prefers-color-scheme: dark)");

function pick(row, { center = false, focus = false } = {}) {
  state.picked = row;
  state.hovered = -1;
  hideTooltip();
  drawNode();
  drawOverlay();
  announce(`${names[row]} picked, ${plural(nearestNeighbors(row).length, "neighbor")} listed`);
  if (focus) byId("neighbors").querySelector("button")?.focus();
  if (center) centerOn(row);
}

function clearNode() {
  state.picked = state.hovered = -1;
  hideTooltip();
  drawNode();
  drawOverlay();
}

// A selection without nodes is null.
function select(rows) {
  state.selected = rows.length ? new Set(rows) : null;
  drawSelection();
  drawSummary();
  announce(state.selected ? `${plural(state.selected.size, "node")} selected` : "Nothing selected");
  return drawMap();
}

// Wait for the end of the drag event: plotly first finishes its own outline.
function selectAfterDrag(rows) {
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
  byId("legend").querySelector(`[data-slot="${slot}"]`).setAttribute("aria-pressed", String(!state.hidden.has(slot)));
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
  byId("theme").textContent = isDark ? "Light" : "Dark";
  byId("theme").title = `Switch to ${isDark ? "light" : "dark"} colors`;
}

async function redrawInTheme(isDark) {
  setTheme(isDark);
  drawLegend();
  await drawMap();
  drawOverlay();
}

// The other embedding: its map and its neighbors, with the same colors, selection and picked node.
async function showEmbedding(number) {
  state.map = number;
  showMapNumber(number);
  fullView = computeFullView();
  document.querySelectorAll("[data-map]").forEach((button) => {
    button.setAttribute("aria-pressed", String(Number(button.dataset.map) === number));
  });
  byId("about").textContent = aboutText();
  hideTooltip();
  drawNode();
  await drawMap();
  return fitView();
}

function toggleLabels() {
  state.labels = !state.labels;
  byId("labels").setAttribute("aria-pressed", String(state.labels));
  drawOverlay();
}

function mapKey(event) {
  const moves = { ArrowLeft: [1, -0.1, 0], ArrowRight: [1, 0.1, 0], ArrowUp: [1, 0, 0.1], ArrowDown: [1, 0, -0.1] };
  const zooms = { "+": [0.7, 0, 0], "=": [0.7, 0, 0], "-": [1 / 0.7, 0, 0] };
  const move = moves[event.key] ?? zooms[event.key];
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (move) moveView(...move);
  else if (event.key === "0") fitView();
  else return;
  event.preventDefault();
}

function pageKey(event) {
  if (event.key !== "Escape" || event.defaultPrevented) return;
  clearNode();
  if (state.selected) select([]);
}

function listenToMap() {
  const rowsOf = (event) => event.points.map(({ pointIndex }) => drawnRows[pointIndex]);
  mapElement.on("plotly_hover", (event) => {
    const [row] = rowsOf(event);
    hover(row);
    showTooltip(row);
  });
  mapElement.on("plotly_unhover", stopHover);
  mapElement.on("plotly_click", (event) => pick(rowsOf(event)[0]));
  mapElement.on("plotly_selected", (event) => event && !state.drawing && selectAfterDrag(rowsOf(event)));
  mapElement.on("plotly_deselect", () => !state.drawing && selectAfterDrag([]));
  mapElement.on("plotly_relayouting", stopHover);
  mapElement.on("plotly_relayout", saveView);
  mapElement.on("plotly_afterplot", drawOverlay);
  // Plotly follows the size of the window only; the map may change its size without it.
  new ResizeObserver(() => Plotly.Plots.resize(mapElement).then(afterResize, () => undefined)).observe(mapElement);
  mapElement.addEventListener("keydown", mapKey);
  mapElement.addEventListener("pointerdown", stopHover, { capture: true });
}

function afterResize() {
  return state.isFitted ? fitView() : setView(state.view.x, state.view.y);
}

function listenToPanel() {
  search.addEventListener("input", drawMatches);
  search.addEventListener("keydown", searchKey);
  search.addEventListener("focus", () => openMatches(matchRows.length > 0 && search.value.trim() !== ""));
  search.addEventListener("blur", () => setTimeout(() => openMatches(false), 200));
  ["neighbors", "legend"].forEach((id) => byId(id).addEventListener("keydown", listKey));
  byId("column").addEventListener("change", (event) => colorBy(Number(event.target.value)));
  listenToButtons({
    "clear-node": clearNode,
    "select-neighbors": () => select([state.picked, ...nearestNeighbors(state.picked).map(({ row }) => row)]),
    "show-all": () => showSlots(true),
    "hide-all": () => showSlots(false),
    "export": saveNames,
    "copy": copyNames,
    "clear-selection": () => select([]),
    "theme": () => redrawInTheme(!state.dark),
    "zoom-in": () => moveView(0.7, 0, 0),
    "zoom-out": () => moveView(1 / 0.7, 0, 0),
    "fit": fitView,
    "labels": toggleLabels,
  });
  byId("maps").hidden = maps.length < 2;
  document.querySelectorAll("[data-map]").forEach((button) => {
    button.textContent = maps[Number(button.dataset.map)]?.name ?? "";
    button.addEventListener("click", () => showEmbedding(Number(button.dataset.map)));
  });
}

function listenToButtons(actions) {
  Object.entries(actions).forEach(([id, action]) => byId(id).addEventListener("click", action));
  document.querySelectorAll("[data-mode]").forEach((button) => {
    button.addEventListener("click", () => setMode(button.dataset.mode));
  });
}

function aboutText() {
  const sampled = isSample ? `a sample of ${count.toLocaleString("en")} of ${plural(data.total, "node")}` : plural(count, "node");
  const parts = [sampled, edges && plural(edges.count, "edge"), maps[state.map].about];
  return parts.filter(Boolean).join(" · ");
}

const state = {
  column: 0,
  hidden: new Set(), // slots of the column
  picked: -1,
  hovered: -1,
  selected: null,
  mode: "pan",
  map: 0, // number of the embedding that is shown
  labels: true, // whether names of categories are drawn
  places: [], // of these names
  labelsDrawn: 0,
  dark: false,
  view: fullView,
  isFitted: true, // whether the view is that of all nodes, and follows the size of the map
  drawing: 0, // number of draws in progress; meanwhile plotly reports selections that nobody made
};

// For scripts and tests.
window.explorer = { state, names, nodePosition, drawnRows: () => Array.from(drawnRows) };

setTheme(system.matches);
system.addEventListener("change", (event) => redrawInTheme(event.matches));
byId("about").textContent = aboutText();
fillColumns();
drawLegend();
drawSelection();
listenToPanel();
await drawMap();
listenToMap();
drawOverlay();
document.addEventListener("keydown", pageKey);
document.body.dataset.ready = "true";
