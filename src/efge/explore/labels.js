// Names of categories on the map, each where most of its nodes are: above a small group, within a large one. Names that
// would cover others are left out.

const GRID = 24; // cells of the map in either direction, to find where a category is densest
const STEPS = [-2, -1, 0, 1, 2]; // cells around a place that count
const LABEL_SHIFTS = [0, -1.5, 1.5]; // of a name that would cover another, in its heights
const LABEL_SIZES = [11, 16]; // pixels, by the number of nodes
const MAX_LABELS = 60; // categories with a name, the largest ones; those beyond the colors have gray names

// The places of the names of the shown column: computed when the column, the map or the hidden categories change.
function placeLabels() {
  const column = columns[state.column];
  if (column.kind !== "categories") return [];
  const groups = new Map();
  column.codes.forEach((code, row) => {
    if (code < 0 || code >= MAX_LABELS || !isVisible(row)) return;
    if (!groups.has(code)) groups.set(code, []);
    groups.get(code).push(row);
  });
  const places = [...groups].map(([code, rows]) => ({ size: rows.length, text: column.categories[code], isGray: code >= MAX_COLORS, ...densestPlace(rows) }));
  return places.sort((a, b) => b.size - a.size);
}

function densestPlace(rows) {
  const cellOf = (row) => {
    const column = Math.floor(((xs[row] - fullView.x[0]) / (fullView.x[1] - fullView.x[0])) * GRID);
    const line = Math.floor(((ys[row] - fullView.y[0]) / (fullView.y[1] - fullView.y[0])) * GRID);
    return line * GRID + column;
  };
  const cells = new Map();
  rows.forEach((row) => cells.set(cellOf(row), (cells.get(cellOf(row)) ?? 0) + 1));
  const around = (cell) => STEPS.flatMap((line) => STEPS.map((column) => cell + line * GRID + column));
  const weight = (cell) => around(cell).reduce((sum, other) => sum + (cells.get(other) ?? 0), 0);
  const center = [...cells].reduce((sum, [cell, number]) => [sum[0] + (cell % GRID) * number, sum[1] + Math.floor(cell / GRID) * number], [0, 0]);
  const distance = (cell) => Math.hypot((cell % GRID) - center[0] / rows.length, Math.floor(cell / GRID) - center[1] / rows.length);
  // Of equally dense places, the one in the middle of the category.
  const [best] = [...cells.keys()].map((cell) => [cell, weight(cell), distance(cell)]).reduce((a, b) => (b[1] - a[1] || a[2] - b[2]) > 0 ? b : a);
  const near = new Set(around(best));
  const members = rows.filter((row) => near.has(cellOf(row)));
  const mean = (values) => members.reduce((sum, row) => sum + values[row], 0) / members.length;
  return { x: mean(xs), y: mean(ys), ...extentOf(members) };
}

// The part of the map that nearly all of some nodes are in.
function extentOf(rows) {
  const quantiles = (values) => {
    const sorted = Float32Array.from(rows, (row) => values[row]).sort();
    return [0.03, 0.97].map((part) => sorted[Math.round(part * (sorted.length - 1))]);
  };
  const [left, right] = quantiles(xs);
  const [bottom, top] = quantiles(ys);
  return { left, right, bottom, top };
}

function drawLabels(context) {
  if (!state.labels) return;
  const largest = Math.max(1, ...state.places.map(({ size }) => size));
  const scale = Math.max(0.8, Math.min(1, mapElement.clientWidth / 700));
  const taken = [];
  for (const place of state.places) {
    const center = placePosition(place.x, place.y);
    if (center.x < 0 || center.x > mapElement.clientWidth) continue;
    const size = scale * (LABEL_SIZES[0] + (LABEL_SIZES[1] - LABEL_SIZES[0]) * Math.sqrt(place.size / largest));
    context.font = `650 ${size.toFixed(1)}px system-ui, sans-serif`;
    const text = truncate(place.text, 28);
    const half = context.measureText(text).width / 2 + 4;
    // At the border of the map, a name moves inward.
    const x = Math.max(half, Math.min(center.x, mapElement.clientWidth - half));
    const boxAt = (y) => [x - half, y - 0.7 * size, x + half, y + 0.7 * size];
    const y = labelHeights(place, half, size).find((height) => isFree(boxAt(height), taken));
    if (y === undefined) continue;
    taken.push(boxAt(y));
    drawOutlined(context, text, x, y, place.isGray ? "--muted" : "--text");
  }
  state.labelsDrawn = taken.length;
}

// Heights to try for a name, in pixels: the middle of a group that is larger than its name; above or below a small one.
function labelHeights(place, half, size) {
  const low = placePosition(place.left, place.bottom);
  const high = placePosition(place.right, place.top);
  const middle = placePosition(place.x, place.y).y;
  if (high.x - low.x > 2 * half && low.y - high.y > 4 * size) return LABEL_SHIFTS.map((shift) => middle + shift * size);
  const gap = markerSize / 2 + 0.9 * size;
  return [high.y - gap, low.y + gap, middle];
}

function isFree(box, taken) {
  const isInside = box[0] >= 0 && box[2] <= mapElement.clientWidth && box[1] >= 0 && box[3] <= mapElement.clientHeight;
  return isInside && !taken.some((other) => box[0] < other[2] && other[0] < box[2] && box[1] < other[3] && other[1] < box[3]);
}

function drawOutlined(context, text, x, y, color) {
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.lineJoin = "round";
  context.lineWidth = 4;
  context.strokeStyle = themeColor("--surface");
  context.strokeText(text, x, y);
  context.fillStyle = themeColor(color);
  context.fillText(text, x, y);
}
