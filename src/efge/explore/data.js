// The data of the page: names, positions, columns, neighbors and edges, decoded once from the JSON in the page.

// A slot is the index of a color in the legend.
const MISSING = 255; // slot of nodes without a value
const OTHER = 254; // slot of all categories that share one color
const MAX_COLORS = 20; // number of categories with their own color

const data = JSON.parse(document.getElementById("data").textContent);
const names = data.names;
const count = names.length;
const maps = data.maps.map(decodeMap); // a second one is that of the embedding to compare with
let { xs, ys, neighborLists } = maps[0]; // those of the map that is shown
const columns = data.columns.map(decodeColumn);
const edges = data.edges && {
  count: data.edges.count,
  indptr: decodeArray(data.edges.indptr, Int32Array),
  indices: decodeArray(data.edges.indices, Int32Array),
};
const collator = new Intl.Collator("en", { numeric: true });
const lowercaseNames = names.map((name) => name.toLowerCase());

// The choice of no color.
columns.push({ name: "nothing", kind: "none", slots: new Uint8Array(count), text: () => "" });

function decodeArray(text, ArrayType) {
  const bytes = Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
  return new ArrayType(bytes.buffer);
}

function decodeMap({ name, x, y, about, neighbors }) {
  const neighborLists = neighbors && {
    k: neighbors.k,
    rows: decodeArray(neighbors.rows, Int32Array),
    scores: decodeArray(neighbors.scores, Float32Array),
  };
  return { name, xs: decodeArray(x, Float32Array), ys: decodeArray(y, Float32Array), about, neighborLists };
}

function showMapNumber(number) {
  ({ xs, ys, neighborLists } = maps[number]);
}

function decodeColumn(encoded) {
  return "codes" in encoded ? categoryColumn(encoded) : numberColumn(encoded);
}

function categoryColumn({ name, codes: encoded, categories }) {
  const codes = decodeArray(encoded, Int32Array);
  const slots = Uint8Array.from(codes, slotOf);
  return { name, kind: "categories", categories, codes, slots, text: (row) => categories[codes[row]] ?? "–" };
}

function slotOf(code) {
  if (code < 0) return MISSING;
  return code < MAX_COLORS ? code : OTHER;
}

function numberColumn({ name, values: encoded, logScale, isDate }) {
  const values = decodeArray(encoded, Float64Array);
  const known = values.filter((value) => !Number.isNaN(value));
  const scale = numberScale(known, logScale);
  const slots = Uint8Array.from(values, (value) => (Number.isNaN(value) ? MISSING : 0));
  const format = isDate ? formatDate : formatNumber;
  return { name, kind: "numbers", values, scale, slots, format, isDate, text: (row) => format(values[row]) };
}

// Maps values to 0..1 and back; on a log scale, zero counts as the smallest positive value.
function numberScale(known, logScale) {
  const extent = (numbers) => numbers.reduce(([low, high], v) => [Math.min(low, v), Math.max(high, v)], [Infinity, -Infinity]);
  const [low, high] = extent(logScale ? known.filter((value) => value > 0) : known);
  const [from, to] = logScale ? [Math.log(low), Math.log(high)] : [low, high];
  const fraction = (value) => (to > from ? ((logScale ? Math.log(Math.max(value, low)) : value) - from) / (to - from) : 0.5);
  const valueAt = (t) => (logScale ? Math.exp(from + t * (to - from)) : from + t * (to - from));
  return { logScale, fraction, valueAt, isEmpty: known.length === 0 };
}

function formatNumber(value) {
  if (Number.isNaN(value)) return "–";
  const rounded = Number.isInteger(value) && Math.abs(value) < 1e15 ? value : Number(value.toPrecision(6));
  // Years and other integers of four digits have no commas.
  return Math.abs(rounded) < 1e4 || Math.abs(rounded) >= 1e15 ? String(rounded) : rounded.toLocaleString("en", { maximumFractionDigits: 6 });
}

// A date, with the time if it is not midnight.
function formatDate(seconds) {
  if (Number.isNaN(seconds)) return "–";
  const text = new Date(seconds * 1000).toISOString();
  return text.endsWith("T00:00:00.000Z") ? text.slice(0, 10) : text.slice(0, 16).replace("T", " ");
}

function linkedRows(row) {
  return edges ? edges.indices.subarray(edges.indptr[row], edges.indptr[row + 1]) : new Int32Array(0);
}

function nearestNeighbors(row) {
  if (!neighborLists) return [];
  const { k, rows, scores } = neighborLists;
  return Array.from({ length: k }, (_, i) => ({ row: rows[row * k + i], score: scores[row * k + i] }));
}

// Rows whose names contain the text: first equal names, then names that start with it, then the others. Within each, nodes
// with more edges come first, then the order is alphabetical, with numbers by their value.
function findNodes(text) {
  const query = text.trim().toLowerCase();
  if (!query) return [];
  const ranks = [[], [], []];
  lowercaseNames.forEach((name, row) => {
    const offset = name.indexOf(query);
    if (offset >= 0) ranks[name.length === query.length ? 0 : offset === 0 ? 1 : 2].push(row);
  });
  const compare = (a, b) => linkedRows(b).length - linkedRows(a).length || collator.compare(names[a], names[b]);
  return ranks.flatMap((rows) => rows.sort(compare));
}
