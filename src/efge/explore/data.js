// What the page shows: names, places, columns, neighbors and edges, unpacked once from the JSON in the page.

const MISSING = 255; // the slot of nodes without a value
const OTHER = 254; // the slot of categories that have no color of their own
const COLORED = 20; // so many categories have one

const data = JSON.parse(document.getElementById("data").textContent);
const names = data.names;
const count = names.length;
const xs = unpacked(data.map.x, Float32Array);
const ys = unpacked(data.map.y, Float32Array);
const columns = data.columns.map(unpackedColumn);
const near = data.neighbors && {
  number: data.neighbors.number,
  rows: unpacked(data.neighbors.rows, Int32Array),
  scores: unpacked(data.neighbors.scores, Float32Array),
};
const links = data.links && {
  edges: data.links.edges,
  starts: unpacked(data.links.starts, Int32Array),
  ends: unpacked(data.links.ends, Int32Array),
};
const lowerNames = names.map((name) => name.toLowerCase());

// What the page colors by when it colors by nothing.
columns.push({ name: "nothing", kind: "none", slots: new Uint8Array(count), text: () => "" });

function unpacked(text, Kind) {
  const bytes = Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
  return new Kind(bytes.buffer);
}

function unpackedColumn(packed) {
  return "codes" in packed ? categoryColumn(packed) : numberColumn(packed);
}

function categoryColumn({ name, codes: packed, categories }) {
  const codes = unpacked(packed, Int32Array);
  const slots = Uint8Array.from(codes, slotOf);
  return { name, kind: "categories", categories, slots, text: (row) => categories[codes[row]] ?? "–" };
}

function slotOf(code) {
  if (code < 0) return MISSING;
  return code < COLORED ? code : OTHER;
}

function numberColumn({ name, values: packed, byLog }) {
  const values = unpacked(packed, Float64Array);
  const known = values.filter((value) => !Number.isNaN(value));
  const scale = numberScale(known, byLog);
  const slots = Uint8Array.from(values, (value) => (Number.isNaN(value) ? MISSING : 0));
  return { name, kind: "numbers", values, scale, slots, text: (row) => formatted(values[row]) };
}

// From values to 0..1 and back; by logarithms, zero stands where the smallest positive value does.
function numberScale(known, byLog) {
  const extent = (some) => some.reduce(([low, high], v) => [Math.min(low, v), Math.max(high, v)], [Infinity, -Infinity]);
  const [low, high] = extent(byLog ? known.filter((value) => value > 0) : known);
  const [from, to] = byLog ? [Math.log(low), Math.log(high)] : [low, high];
  const share = (value) => (to > from ? ((byLog ? Math.log(Math.max(value, low)) : value) - from) / (to - from) : 0.5);
  const value = (at) => (byLog ? Math.exp(from + at * (to - from)) : from + at * (to - from));
  return { byLog, share, value, isEmpty: known.length === 0 };
}

function formatted(value) {
  if (Number.isNaN(value)) return "–";
  return Number.isInteger(value) && Math.abs(value) < 1e15 ? String(value) : String(Number(value.toPrecision(6)));
}

function linkedTo(row) {
  return links ? links.ends.subarray(links.starts[row], links.starts[row + 1]) : new Int32Array(0);
}

function nearestTo(row) {
  if (!near) return [];
  const first = row * near.number;
  return Array.from({ length: near.number }, (_, i) => ({ row: near.rows[first + i], score: near.scores[first + i] }));
}

// Rows whose name has the text in it: the very name first, then names that begin with it.
function matching(text) {
  const wanted = text.trim().toLowerCase();
  if (!wanted) return [];
  const ranks = [[], [], []];
  lowerNames.forEach((name, row) => {
    const place = name.indexOf(wanted);
    if (place >= 0) ranks[name.length === wanted.length ? 0 : place === 0 ? 1 : 2].push(row);
  });
  return ranks.flat();
}
