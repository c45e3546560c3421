// Names of categories on the map, each where most of its nodes are: above a small group, within a large one. Names that
// would cover others, or another small group, are left out; the more categories there are, the shorter is a name.

const GRID = 24; // cells of the map in either direction, to find where a category is densest
const STEPS = [-2, -1, 0, 1, 2]; // cells around a place that count
const LABEL_SHIFTS = [0, -1.5, 1.5]; // of a name that would cover another, in its heights
const LABEL_SIZES = [11, 16]; // pixels, by the number of nodes
const NAME_LENGTHS = [9, 28]; // characters
const FEW = 15; // categories with names of up to a third of the map; those of more have up to a sixth, and may have none
const CHARACTER = 0.6; // width of one, relative to its height
const COVERED = 0.25; // part of another group that a name may cover
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
  const groups = state.places.map(groupBox);
  const shared = sharedBeginning(state.places.map(({ text }) => text));
  const isCrowded = state.places.length > FEW;
  const space = mapElement.clientWidth / (isCrowded ? 6 : 3);
  for (const [number, place] of state.places.entries()) {
    place.shown = null;
    const center = placePosition(place.x, place.y);
    if (center.x < 0 || center.x > mapElement.clientWidth) continue;
    const size = scale * (LABEL_SIZES[0] + (LABEL_SIZES[1] - LABEL_SIZES[0]) * Math.sqrt(place.size / largest));
    context.font = `650 ${size.toFixed(1)}px system-ui, sans-serif`;
    const longest = Math.max(NAME_LENGTHS[0], Math.min(Math.floor(space / (CHARACTER * size)), NAME_LENGTHS[1]));
    // Of few categories, a name that finds no place is tried in fewer characters, and above another group.
    const attempts = [[longest, COVERED], [NAME_LENGTHS[0], COVERED], [NAME_LENGTHS[0], 1]];
    for (const [length, covered] of isCrowded ? attempts.slice(0, 1) : attempts) {
      const text = shorten(place.text, length, shared);
      const half = context.measureText(text).width / 2 + 4;
      // At the border of the map, a name moves inward.
      const x = Math.max(half, Math.min(center.x, mapElement.clientWidth - half));
      const boxAt = (y) => [x - half, y - 0.7 * size, x + half, y + 0.7 * size];
      const others = groups.filter((group, index) => index !== number && isSmall(group, half, size));
      const isGood = (box) => isFree(box, taken) && !others.some((group) => coveredPart(box, group) > covered);
      const y = labelHeights(place, half, size).find((height) => isGood(boxAt(height)));
      if (y === undefined) continue;
      taken.push(boxAt(y));
      place.shown = text;
      drawOutlined(context, text, x, y, place.isGray ? "--muted" : "--text");
      break;
    }
  }
  state.labelsDrawn = taken.length;
}

// The words that all names begin with, of which a short name shows nothing else.
function sharedBeginning(texts) {
  const [first = "", ...others] = texts;
  const words = first.match(/\S+\s+/g) ?? [];
  const begins = (count) => others.every((text) => text.startsWith(words.slice(0, count).join("")));
  const count = others.length ? words.findIndex((_, index) => !begins(index + 1)) : 0;
  return words.slice(0, count < 0 ? words.length : count).join("");
}

// A name that is too long loses what it shares with all others before it loses its end.
function shorten(text, length, shared) {
  return truncate(Array.from(text).length > length ? text.slice(shared.length) : text, length);
}

// The part of the map that a category fills where it is densest, in pixels: left, top, right, bottom.
function groupBox({ left, right, bottom, top }) {
  const low = placePosition(left, bottom);
  const high = placePosition(right, top);
  const radius = markerSize / 2;
  return [low.x - radius, high.y - radius, high.x + radius, low.y + radius];
}

function isSmall([left, top, right, bottom], half, size) {
  return right - left - markerSize <= 2 * half || bottom - top - markerSize <= 4 * size;
}

// The part of a group's box that a name covers.
function coveredPart(box, group) {
  const width = Math.min(box[2], group[2]) - Math.max(box[0], group[0]);
  const height = Math.min(box[3], group[3]) - Math.max(box[1], group[1]);
  return (Math.max(width, 0) * Math.max(height, 0)) / ((group[2] - group[0]) * (group[3] - group[1]));
}

// Heights to try for a name, in pixels: the middle of a group that is larger than its name; above or below a small one.
function labelHeights(place, half, size) {
  const group = groupBox(place);
  const middle = placePosition(place.x, place.y).y;
  if (!isSmall(group, half, size)) return LABEL_SHIFTS.map((shift) => middle + shift * size);
  return [group[1] - 0.9 * size, group[3] + 0.9 * size, middle];
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
