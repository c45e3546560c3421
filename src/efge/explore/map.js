// The map: plotly draws one cloud of points by WebGL; nothing a stranger wrote is ever given to it.

const RAMP = ["#440154", "#46327e", "#365c8d", "#277f8e", "#1fa187", "#4ac16d", "#a0da39", "#fde725"];
const SHAPES = [
  { symbol: "circle", path: "M8 3a5 5 0 1 0 0.001 0z" },
  { symbol: "diamond", path: "M8 1.5 14 8 8 14.5 2 8z" },
  { symbol: "triangle-up", path: "M8 2 14.5 13.5 1.5 13.5z" },
];
const MARGIN = 0.06; // around all nodes, as a share of their extent

const mapElement = document.getElementById("map");
const markerSize = Math.min(11, Math.max(2.4, 60 / count ** 0.28));
const whole = wholeView();
const traceType = hasWebGL() ? "scattergl" : "scatter";
let shown = new Int32Array(0); // the row of each point that is drawn

// Colors repeat with another shape, so that few of them need be told apart.
function styleOf(slot) {
  if (slot === MISSING) return { color: themed("--missing"), shape: SHAPES[0] };
  if (slot === OTHER) return { color: themed("--other"), shape: SHAPES[0] };
  const palette = data.palette;
  const color = palette[slot % palette.length];
  return { color: state.dark ? lightened(color) : color, shape: SHAPES[Math.floor(slot / palette.length) % SHAPES.length] };
}

function lightened(color) {
  const parts = [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));
  return `#${parts.map((part) => Math.round(part + (255 - part) * 0.22).toString(16).padStart(2, "0")).join("")}`;
}

// High values stand out from the background, which yellow does not from white, nor violet from black.
function ramp() {
  return state.dark ? RAMP.slice(2) : RAMP.slice(0, -1).reverse();
}

function themed(variable) {
  return getComputedStyle(document.documentElement).getPropertyValue(variable).trim();
}

async function drawMap() {
  shown = visibleRows(columns[state.column].slots);
  const trace = {
    type: traceType,
    mode: "markers",
    x: Float32Array.from(shown, (row) => xs[row]),
    y: Float32Array.from(shown, (row) => ys[row]),
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

// Gray points come first, so that they lie under the others.
function visibleRows(slots) {
  const gray = [];
  const colored = [];
  slots.forEach((slot, row) => isShown(row) && (slot >= OTHER ? gray : colored).push(row));
  return Int32Array.from([...gray, ...colored]);
}

function isShown(row) {
  return !state.hidden.has(columns[state.column].slots[row]);
}

function markerColors(column) {
  return column.kind === "numbers" ? numberColors(column) : slotColors(column);
}

// Numbers and a scale are much faster to draw than a hundred thousand names of colors.
function slotColors(column) {
  const slots = [...Array(COLORED).keys(), OTHER, MISSING];
  const places = new Map(slots.map((slot, place) => [slot, place]));
  const steps = slots.flatMap((slot, i) => [i, i + 1].map((edge) => [edge / slots.length, styleOf(slot).color]));
  const marker = scaled(Float32Array.from(shown, (row) => places.get(column.slots[row]) + 0.5), 0, slots.length, steps);
  if (column.kind === "categories" && column.categories.length > data.palette.length) {
    marker.symbol = Array.from(shown, (row) => styleOf(column.slots[row]).shape.symbol);
  }
  return marker;
}

// Below zero stands what is missing.
function numberColors(column) {
  const stops = ramp();
  const steps = stops.map((color, i) => [0.5 + (0.5 * i) / (stops.length - 1), color]);
  const missing = styleOf(MISSING).color;
  const shares = Float32Array.from(shown, (row) =>
    column.slots[row] === MISSING ? -1 : column.scale.share(column.values[row]),
  );
  return scaled(shares, -1, 1, [[0, missing], [0.4999, missing], ...steps]);
}

function scaled(color, cmin, cmax, colorscale) {
  return { color, cmin, cmax, colorscale, cauto: false, showscale: false };
}

function selectedPoints() {
  if (!state.selected) return null;
  const points = [];
  shown.forEach((row, point) => state.selected.has(row) && points.push(point));
  return points;
}

function mapLayout() {
  // Plotly writes to the ranges it is given: it has copies.
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
    newselection: { line: { color: themed("--accent"), width: 1.5, dash: "solid" } },
    selections: [],
  };
}

// A browser has few contexts of WebGL, and takes them from maps that are older: the one of the trial is given back.
function hasWebGL() {
  const trial = document.createElement("canvas").getContext("webgl");
  trial?.getExtension("WEBGL_lose_context")?.loseContext();
  return trial !== null;
}

function wholeView() {
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

// Where a node is, in pixels from the map's corner; by the ranges, which are right even while the map moves.
function placeOf(row) {
  const { xaxis, yaxis } = axes();
  const share = (axis, value) => (value - axis.range[0]) / (axis.range[1] - axis.range[0]);
  return {
    x: xaxis._offset + xaxis._length * share(xaxis, xs[row]),
    y: yaxis._offset + yaxis._length * (1 - share(yaxis, ys[row])),
  };
}

function setView(x, y) {
  state.view = { x, y };
  return Plotly.relayout(mapElement, { "xaxis.range": [...x], "yaxis.range": [...y] });
}

// Show a stretch of the map around a point: factor 0.5 is twice as close.
function moveView(factor, shiftX, shiftY) {
  const moved = ({ range: [low, high] }, shift) => {
    const middle = (low + high) / 2 + shift * (high - low);
    const half = ((high - low) / 2) * factor;
    return [middle - half, middle + half];
  };
  const { xaxis, yaxis } = axes();
  return setView(moved(xaxis, shiftX), moved(yaxis, shiftY));
}

// The node in the middle, as close as the map is already or a sixth of the whole.
function centerOn(row) {
  const { xaxis, yaxis } = axes();
  const around = (value, axis, [low, high]) => {
    const half = Math.min(axis.range[1] - axis.range[0], (high - low) / 6) / 2;
    return [value - half, value + half];
  };
  return setView(around(xs[row], xaxis, whole.x), around(ys[row], yaxis, whole.y));
}

function rememberView() {
  const { xaxis, yaxis } = axes();
  state.view = { x: [...xaxis.range], y: [...yaxis.range] };
}
