// Names of categories on the map, each where most of its nodes are; names that would cover others are left out.

const GRID = 24; // cells of the map in either direction, to find where a category is densest
const STEPS = [-2, -1, 0, 1, 2]; // cells around a place that count
const LABEL_SHIFTS = [0, -1.5, 1.5]; // of a name that would cover another, in its heights
const LABEL_SIZES = [11, 17]; // pixels, by the number of nodes

// The places of the names of the shown column: computed when the column, the map or the hidden categories change.
function placeLabels() {
  const column = columns[state.column];
  if (column.kind !== "categories") return [];
  const groups = new Map();
  column.slots.forEach((slot, row) => {
    if (slot >= OTHER || state.hidden.has(slot)) return;
    if (!groups.has(slot)) groups.set(slot, []);
    groups.get(slot).push(row);
  });
  const places = [...groups].map(([slot, rows]) => ({ slot, size: rows.length, text: column.categories[slot], ...densestPlace(rows) }));
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
  return { x: mean(xs), y: mean(ys) };
}

function drawLabels(context) {
  if (!state.labels) return;
  const largest = Math.max(1, ...state.places.map(({ size }) => size));
  const scale = Math.max(0.8, Math.min(1, mapElement.clientWidth / 700));
  const taken = [];
  for (const place of state.places) {
    const { x, y } = placePosition(place.x, place.y);
    const size = scale * (LABEL_SIZES[0] + (LABEL_SIZES[1] - LABEL_SIZES[0]) * Math.sqrt(place.size / largest));
    context.font = `650 ${size.toFixed(1)}px system-ui, sans-serif`;
    const text = truncate(place.text, 28);
    const half = context.measureText(text).width / 2 + 4;
    const boxAt = (shift) => [x - half, y + (shift - 0.7) * size, x + half, y + (shift + 0.7) * size];
    const shift = LABEL_SHIFTS.find((shift) => isFree(boxAt(shift), taken));
    if (shift === undefined) continue;
    taken.push(boxAt(shift));
    drawOutlined(context, text, x, y + shift * size);
  }
  state.labelsDrawn = taken.length;
}

function isFree(box, taken) {
  const isInside = box[0] >= 0 && box[2] <= mapElement.clientWidth && box[1] >= 0 && box[3] <= mapElement.clientHeight;
  return isInside && !taken.some((other) => box[0] < other[2] && other[0] < box[2] && box[1] < other[3] && other[1] < box[3]);
}

function drawOutlined(context, text, x, y) {
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.lineJoin = "round";
  context.lineWidth = 4;
  context.strokeStyle = themeColor("--surface");
  context.strokeText(text, x, y);
  context.fillStyle = themeColor("--text");
  context.fillText(text, x, y);
}
