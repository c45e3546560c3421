// The panel next to the map: search, the picked node and its neighbors, the legend, the selection.

const MAX_MATCHES = 50; // length of the list; further matches are only counted
const isSample = count < data.total;
const leftOut = (data.total - count).toLocaleString("en");

const byId = (id) => document.getElementById(id);
const search = byId("search");
const matches = byId("matches");
let matchRows = []; // rows in the list of matches
let activeMatch = -1; // index of the highlighted match

function drawMatches() {
  const rows = findNodes(search.value);
  matchRows = rows.slice(0, MAX_MATCHES);
  matches.replaceChildren(...matchRows.map(matchItem));
  byId("match-count").hidden = !search.value.trim();
  byId("match-count").textContent = matchCountText(rows.length);
  openMatches(matchRows.length > 0);
  markMatch(matchRows.length ? 0 : -1);
}

function matchCountText(number) {
  if (!number) return isSample ? `No node of the sample has a name that contains this text; ${leftOut} are not on this page` : "No node name contains this text";
  return number > MAX_MATCHES ? `${number.toLocaleString("en")} nodes; the first ${MAX_MATCHES} are listed` : plural(number, "node");
}

function matchItem(row, index) {
  const item = element("li", names[row] || "(no name)", { role: "option", id: `match-${index}`, "aria-selected": "false" });
  item.addEventListener("click", () => pickMatch(index));
  return item;
}

function openMatches(isOpen) {
  matches.hidden = !isOpen;
  search.setAttribute("aria-expanded", String(isOpen));
}

function markMatch(index) {
  matches.children[activeMatch]?.setAttribute("aria-selected", "false");
  activeMatch = index;
  const item = matches.children[activeMatch];
  if (!item) return search.removeAttribute("aria-activedescendant");
  item.setAttribute("aria-selected", "true");
  item.scrollIntoView({ block: "nearest" });
  return search.setAttribute("aria-activedescendant", item.id);
}

function pickMatch(index) {
  openMatches(false);
  byId("match-count").hidden = true;
  pick(matchRows[index], { center: true });
}

function searchKey(event) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step && matchRows.length) {
    event.preventDefault();
    openMatches(true);
    markMatch((activeMatch + step + matchRows.length) % matchRows.length);
  } else if (event.key === "Enter" && activeMatch >= 0) {
    event.preventDefault();
    pickMatch(activeMatch);
  } else if (event.key === "Escape" && !matches.hidden) {
    event.preventDefault();
    event.stopPropagation();
    openMatches(false);
  }
}

function drawNode() {
  const row = state.picked;
  byId("node").hidden = row < 0;
  if (row < 0) return;
  byId("node-name").textContent = names[row] || "(no name)";
  byId("node-values").replaceChildren(...nodeValues(row).flatMap(([name, text]) => [element("dt", name), element("dd", text)]));
  const neighbors = nearestNeighbors(row);
  const linked = new Set(linkedRows(row));
  byId("neighbors").replaceChildren(...neighbors.map((neighbor) => neighborItem(neighbor, linked.has(neighbor.row))));
  byId("neighbors-title").textContent = `Nearest neighbors by cosine${isSample ? ", of the sample" : ""}`;
  byId("neighbors-title").hidden = byId("select-neighbors").hidden = neighbors.length === 0;
}

function nodeValues(row) {
  return columns.filter(({ kind }) => kind !== "none").map((column) => [column.name, column.text(row)]);
}

function neighborItem({ row, score }, isLinked) {
  const button = element("button", "", { type: "button", "data-row": row });
  const bar = element("span", "", { class: "bar" });
  bar.style.width = `${Math.max(0, Math.min(1, score)) * 100}%`;
  button.append(bar, element("span", names[row] || "(no name)", { class: "name" }));
  if (isLinked) button.append(element("span", "edge", { class: "tag", title: "The graph has an edge between these two nodes" }));
  button.append(element("span", score.toFixed(3), { class: "score" }));
  button.addEventListener("click", () => pick(row, { center: true, focus: true }));
  ["mouseenter", "focus"].forEach((kind) => button.addEventListener(kind, () => hover(row)));
  ["mouseleave", "blur"].forEach((kind) => button.addEventListener(kind, () => hover(-1)));
  const item = element("li");
  item.append(button);
  return item;
}

// The arrow keys move through the buttons of a list, as Tab does.
function listKey(event) {
  const buttons = [...event.currentTarget.querySelectorAll("button")];
  const index = buttons.indexOf(document.activeElement);
  const next = { ArrowDown: index + 1, ArrowUp: index - 1, Home: 0, End: buttons.length - 1 }[event.key];
  if (next === undefined) return;
  event.preventDefault();
  buttons[Math.max(0, Math.min(next, buttons.length - 1))]?.focus();
}

function fillColumns() {
  byId("column").replaceChildren(...columns.map(({ name }, i) => element("option", name, { value: i })));
}

function drawLegend() {
  const column = columns[state.column];
  const entries = legendEntries(column);
  byId("legend").replaceChildren(...entries.map(legendItem));
  byId("legend-all").hidden = entries.length < 2;
  byId("scale").hidden = column.kind !== "numbers" || column.scale.isEmpty;
  if (!byId("scale").hidden) drawScale(column.scale);
  byId("labels").disabled = column.kind !== "categories";
}

function legendEntries(column) {
  const sizes = new Map();
  column.slots.forEach((slot) => sizes.set(slot, (sizes.get(slot) ?? 0) + 1));
  const others = column.kind === "categories" ? column.categories.length - MAX_COLORS : 0;
  const named = (column.categories ?? []).slice(0, MAX_COLORS).map((text, slot) => ({ slot, text }));
  const gray = [
    { slot: OTHER, text: `${others} other categories` },
    { slot: MISSING, text: "no value" },
  ];
  return [...named, ...gray.filter(({ slot }) => sizes.has(slot))].map((entry) => ({ ...entry, size: sizes.get(entry.slot) }));
}

function legendItem({ slot, text, size }) {
  const button = element("button", "", { type: "button", "aria-pressed": String(!state.hidden.has(slot)), "data-slot": slot });
  const number = element("span", size.toLocaleString("en"), { class: "score" });
  button.append(swatch(styleOf(slot)), element("span", text, { class: "name" }), number);
  button.addEventListener("click", () => toggleSlot(slot));
  const item = element("li");
  item.append(button);
  return item;
}

function swatch({ color, shape }) {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(space, "path");
  path.setAttribute("d", shape.path);
  path.setAttribute("fill", color);
  svg.append(path);
  return svg;
}

function drawScale(scale) {
  byId("color-bar").style.background = `linear-gradient(to right, ${ramp().join(", ")})`;
  const { isDate } = columns[state.column];
  const format = (value) => (isDate ? formatDate(value).slice(0, 10) : Number(value.toPrecision(3)).toLocaleString("en"));
  const ticks = [0, 0.5, 1].map((at) => element("span", format(scale.valueAt(at))));
  if (scale.logScale) ticks[1].textContent += " (log)";
  byId("ticks").replaceChildren(...ticks);
}

function drawSelection() {
  const number = state.selected?.size ?? 0;
  byId("selection-count").textContent = number ? `${plural(number, "node")} ${isSample ? "of the sample " : ""}selected` : "Use Lasso or Box on the map to select nodes.";
  ["export", "copy", "clear-selection"].forEach((id) => (byId(id).disabled = number === 0));
}

// One name per line; line breaks within names become escapes.
function selectedText() {
  const line = (name) => name.replace(/[\n\r\v\f\x85\u2028\u2029]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
  return [...state.selected].sort((a, b) => a - b).map((row) => `${line(names[row])}\n`).join("");
}

function saveNames() {
  const address = URL.createObjectURL(new Blob([selectedText()], { type: "text/plain;charset=utf-8" }));
  element("a", "", { href: address, download: "nodes.txt" }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

async function copyNames() {
  try {
    await navigator.clipboard.writeText(selectedText());
  } catch {
    copyWithCommand(selectedText());
  }
  announce(`${plural(state.selected.size, "name")} copied`);
  byId("copy").textContent = "Copied";
  setTimeout(() => (byId("copy").textContent = "Copy names"), 1500);
}

// Some browsers do not let a page from disk use the clipboard directly.
function copyWithCommand(text) {
  const area = element("textarea", text, { class: "visually-hidden" });
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}

function plural(number, noun) {
  return `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
}

function announce(text) {
  byId("status").textContent = text;
}
