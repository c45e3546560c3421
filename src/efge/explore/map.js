// The map: plotly draws all points with WebGL; it never receives names or other untrusted text.

const RAMP = ["#440154", "#46327e", "#365c8d", "#277f8e", "#1fa187", "#4ac16d", "#a0da39", "#fde725"];
const SHAPES = [
  { symbol: "circle", path: "M8 3a5 5 0 1 0 0.001 0z" },
  { symbol: "diamond", path: "M8 1.5 14 8 8 14.5 2 8z" },
  { symbol: "triangle-up", path: "M8 2 14.5 13.5 1.5 13.5z" },
];
const COLORS_PER_SHAPE = 7;
const MARGIN = 0.06; // around all nodes, as a fraction of their extent

const mapElement = document.getElementById("map");
const markerSize = Math.min(11, Math.max(2.4, 60 / count ** 0.28));
let fullView = computeFullView();
const traceType = hasWebGL() ? "scattergl" : "scatter";
let drawnRows = new Int32Array(0); // the row of each drawn point

// Every category has a color of its own; the shape changes after every seventh, for people who see few colors.
function styleOf(slot) {
  if (slot === MISSING) return { color: themeColor("--missing"), shape: SHAPES[0] };
  if (slot === OTHER) return { color: themeColor("--other"), shape: SHAPES[0] };
  const palette = state.dark ? data.palette.dark : data.palette.light;
  return { color: palette[slot % palette.length], shape: SHAPES[Math.floor(slot / COLORS_PER_SHAPE) % SHAPES.length] };
}

// High values must contrast with the background: no yellow on white, no violet on black.
function ramp() {
  return state.dark ? RAMP.slice(2) : RAMP.slice(0, -1).reverse();
}

function themeColor(variable) {
  return getComputedStyle(document.documentElement).getPropertyValue(variable).trim();
}

async function drawMap() {
  state.places = placeLabels();
  drawnRows = visibleRows(columns[state.column].slots);
  const trace = {
    type: traceType,
    mode: "markers",
    x: Float32Array.from(drawnRows, (row) => xs[row]),
    y: Float32Array.from(drawnRows, (row) => ys[row]),
    marker: { size: markerSize, opacity: 0.85, line: { width: 0 }, ...markerColors(columns[state.column]) },
    selected: { marker: { opacity: 1 } },
    unselected: { marker: { opacity: 0.12 } },
    selectedpoints: selectedPoints(),
    hoverinfo: "none",
    showlegend: false,
  };
  state.drawing += 1;
  await Plotly.react(mapElement, [trace], mapLayout(), { displayModeBar: false, scrollZoom: true, responsive: true });
  state.drawing -= 1;
}

// Gray points are drawn first, below the others.
function visibleRows(slots) {
  const gray = [];
  const colored = [];
  slots.forEach((slot, row) => isVisible(row) && (slot >= OTHER ? gray : colored).push(row));
  return Int32Array.from([...gray, ...colored]);
}

function isVisible(row) {
  return !state.hidden.has(columns[state.column].slots[row]);
}

function markerColors(column) {
  return column.kind === "numbers" ? numberColors(column) : slotColors(column);
}

// A color scale and numbers are drawn much faster than a hundred thousand color names.
function slotColors(column) {
  const slots = [...Array(MAX_COLORS).keys(), OTHER, MISSING];
  const indexOf = new Map(slots.map((slot, index) => [slot, index]));
  const steps = slots.flatMap((slot, i) => [i, i + 1].map((edge) => [edge / slots.length, styleOf(slot).color]));
  const marker = scaleColors(Float32Array.from(drawnRows, (row) => indexOf.get(column.slots[row]) + 0.5), 0, slots.length, steps);
  if (column.kind === "categories" && column.categories.length > COLORS_PER_SHAPE) {
    marker.symbol = Array.from(drawnRows, (row) => styleOf(column.slots[row]).shape.symbol);
  }
  return marker;
}

// Missing values are below zero.
function numberColors(column) {
  const stops = ramp();
  const steps = stops.map((color, i) => [0.5 + (0.5 * i) / (stops.length - 1), color]);
  const missing = styleOf(MISSING).color;
  const fractions = Float32Array.from(drawnRows, (row) =>
    column.slots[row] === MISSING ? -1 : column.scale.fraction(column.values[row]),
  );
  return scaleColors(fractions, -1, 1, [[0, missing], [0.4999, missing], ...steps]);
}

function scaleColors(color, cmin, cmax, colorscale) {
  return { color, cmin, cmax, colorscale, cauto: false, showscale: false };
}

function selectedPoints() {
  if (!state.selected) return null;
  const points = [];
  drawnRows.forEach((row, point) => state.selected.has(row) && points.push(point));
  return points;
}

function mapLayout() {
  // Plotly changes the ranges it receives, so it gets copies.
  return {
    xaxis: { visible: false, range: [...state.view.x] },
    yaxis: { visible: false, range: [...state.view.y], scaleanchor: "x" },
    margin: { l: 0, r: 0, t: 0, b: 0 },
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    dragmode: state.mode,
    hovermode: "closest",
    hoverdistance: 12,
    autosize: true,
    newselection: { line: { color: themeColor("--accent"), width: 1.5, dash: "solid" } },
    selections: [],
  };
}

// Browsers allow few WebGL contexts and drop the oldest: release the one of this test.
function hasWebGL() {
  const context = document.createElement("canvas").getContext("webgl");
  context?.getExtension("WEBGL_lose_context")?.loseContext();
  return context !== null;
}

function computeFullView() {
  const range = (values) => {
    const [low, high] = values.reduce(([a, b], v) => [Math.min(a, v), Math.max(b, v)], [Infinity, -Infinity]);
    const margin = (high - low || Math.abs(high) || 1) * MARGIN;
    return [low - margin, high + margin];
  };
  return { x: range(xs), y: range(ys) };
}

function axes() {
  const { xaxis, yaxis } = mapElement._fullLayout;
  return { xaxis, yaxis };
}

// Position of a node in pixels from the map's corner, computed from the ranges, which are current even during a drag.
function nodePosition(row) {
  return placePosition(xs[row], ys[row]);
}

function placePosition(x, y) {
  const { xaxis, yaxis } = axes();
  const fraction = (axis, value) => (value - axis.range[0]) / (axis.range[1] - axis.range[0]);
  return { x: xaxis._offset + xaxis._length * fraction(xaxis, x), y: yaxis._offset + yaxis._length * (1 - fraction(yaxis, y)) };
}

function setView(x, y) {
  state.view = { x, y };
  return Plotly.relayout(mapElement, { "xaxis.range": [...x], "yaxis.range": [...y] });
}

// Show all nodes, now and after each change of the map's size, until the user moves the view.
function fitView() {
  state.isFitted = true;
  return setView(fullView.x, fullView.y);
}

// Zoom by a factor (0.5 is twice as close) and shift by fractions of the view.
function moveView(factor, shiftX, shiftY) {
  state.isFitted = false;
  const shiftRange = ({ range: [low, high] }, shift) => {
    const middle = (low + high) / 2 + shift * (high - low);
    const half = ((high - low) / 2) * factor;
    return [middle - half, middle + half];
  };
  const { xaxis, yaxis } = axes();
  return setView(shiftRange(xaxis, shiftX), shiftRange(yaxis, shiftY));
}

// Center a node, at the current zoom or closer: at most a sixth of the full view is visible.
function centerOn(row) {
  state.isFitted = false;
  const { xaxis, yaxis } = axes();
  const rangeAround = (value, axis, [low, high]) => {
    const half = Math.min(axis.range[1] - axis.range[0], (high - low) / 6) / 2;
    return [value - half, value + half];
  };
  return setView(rangeAround(xs[row], xaxis, fullView.x), rangeAround(ys[row], yaxis, fullView.y));
}

// Only a wheel or a drag names the ends of a range one by one. The ranges after a resize are not saved: they are wider,
// and would grow with each.
function saveView(change) {
  if (!("xaxis.range[0]" in change)) return;
  state.isFitted = false;
  const { xaxis, yaxis } = axes();
  state.view = { x: [...xaxis.range], y: [...yaxis.range] };
}
