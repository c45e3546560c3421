// The panel beside the map: search, the picked node and its neighbors, the legend, the selection.

const LISTED = 50; // matches in the list; more are counted

const part = (id) => document.getElementById(id);
const search = part("search");
const matches = part("matches");
let matched = []; // rows in the list of matches
let active = -1; // which of them is marked

function drawMatches() {
  const found = matching(search.value);
  matched = found.slice(0, LISTED);
  matches.replaceChildren(...matched.map(matchItem));
  part("found").hidden = !search.value.trim();
  part("found").textContent = foundText(found.length);
  openMatches(matched.length > 0);
  markMatch(matched.length ? 0 : -1);
}

function foundText(number) {
  if (!number) return "No node has this in its name";
  return number > LISTED ? `${number.toLocaleString("en")} nodes, the first ${LISTED} listed` : plural(number, "node");
}

function matchItem(row, place) {
  const item = element("li", names[row] || "(no name)", { role: "option", id: `match-${place}`, "aria-selected": "false" });
  item.addEventListener("click", () => pickMatch(place));
  return item;
}

function openMatches(isOpen) {
  matches.hidden = !isOpen;
  search.setAttribute("aria-expanded", String(isOpen));
}

function markMatch(place) {
  matches.children[active]?.setAttribute("aria-selected", "false");
  active = place;
  const item = matches.children[active];
  if (!item) return search.removeAttribute("aria-activedescendant");
  item.setAttribute("aria-selected", "true");
  item.scrollIntoView({ block: "nearest" });
  return search.setAttribute("aria-activedescendant", item.id);
}

function pickMatch(place) {
  openMatches(false);
  part("found").hidden = true;
  pick(matched[place], { center: true });
}

function searchKey(event) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step && matched.length) {
    event.preventDefault();
    openMatches(true);
    markMatch((active + step + matched.length) % matched.length);
  } else if (event.key === "Enter" && active >= 0) {
    event.preventDefault();
    pickMatch(active);
  } else if (event.key === "Escape" && !matches.hidden) {
    event.preventDefault();
    event.stopPropagation();
    openMatches(false);
  }
}

function drawNode() {
  const row = state.picked;
  part("node").hidden = row < 0;
  if (row < 0) return;
  part("node-name").textContent = names[row] || "(no name)";
  part("node-values").replaceChildren(...nodeValues(row).flatMap(([name, text]) => [element("dt", name), element("dd", text)]));
  const neighbors = nearestTo(row);
  const linked = new Set(linkedTo(row));
  part("near").replaceChildren(...neighbors.map((neighbor) => neighborItem(neighbor, linked.has(neighbor.row))));
  part("near-title").hidden = part("select-near").hidden = neighbors.length === 0;
}

function nodeValues(row) {
  return columns.filter(({ kind }) => kind !== "none").map((column) => [column.name, column.text(row)]);
}

function neighborItem({ row, score }, isLinked) {
  const button = element("button", "", { type: "button", "data-row": row });
  const bar = element("span", "", { class: "bar" });
  bar.style.width = `${Math.max(0, Math.min(1, score)) * 100}%`;
  button.append(bar, element("span", names[row] || "(no name)", { class: "name" }));
  if (isLinked) button.append(element("span", "edge", { class: "tag", title: "The graph has an edge between the two" }));
  button.append(element("span", score.toFixed(3), { class: "score" }));
  button.addEventListener("click", () => pick(row, { center: true, focus: true }));
  ["mouseenter", "focus"].forEach((kind) => button.addEventListener(kind, () => pointAt(row)));
  ["mouseleave", "blur"].forEach((kind) => button.addEventListener(kind, () => pointAt(-1)));
  const item = element("li");
  item.append(button);
  return item;
}

// Up and down go through the buttons of a list, as Tab does.
function listKey(event) {
  const buttons = [...event.currentTarget.querySelectorAll("button")];
  const place = buttons.indexOf(document.activeElement);
  const next = { ArrowDown: place + 1, ArrowUp: place - 1, Home: 0, End: buttons.length - 1 }[event.key];
  if (next === undefined) return;
  event.preventDefault();
  buttons[Math.max(0, Math.min(next, buttons.length - 1))]?.focus();
}

function fillColumns() {
  part("column").replaceChildren(...columns.map(({ name }, i) => element("option", name, { value: i })));
}

function drawLegend() {
  const column = columns[state.column];
  const entries = legendEntries(column);
  part("legend").replaceChildren(...entries.map(legendItem));
  part("legend-all").hidden = entries.length < 2;
  part("scale").hidden = column.kind !== "numbers" || column.scale.isEmpty;
  if (!part("scale").hidden) drawScale(column.scale);
}

function legendEntries(column) {
  const sizes = new Map();
  column.slots.forEach((slot) => sizes.set(slot, (sizes.get(slot) ?? 0) + 1));
  const others = column.kind === "categories" ? column.categories.length - COLORED : 0;
  const named = (column.categories ?? []).slice(0, COLORED).map((text, slot) => ({ slot, text }));
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
  part("ramp").style.background = `linear-gradient(to right, ${ramp().join(", ")})`;
  const ticks = [0, 0.5, 1].map((at) => element("span", Number(scale.value(at).toPrecision(3)).toLocaleString("en")));
  if (scale.byLog) ticks[1].textContent += " (log)";
  part("ticks").replaceChildren(...ticks);
}

function drawSelection() {
  const number = state.selected?.size ?? 0;
  part("count").textContent = number ? `${plural(number, "node")} selected` : "Draw with Lasso or Box on the map.";
  ["export", "copy", "drop"].forEach((id) => (part(id).disabled = number === 0));
}

// A name a line: line breaks within names are written as escapes.
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
    copyByHand(selectedText());
  }
  say(`${plural(state.selected.size, "name")} copied`);
  part("copy").textContent = "Copied";
  setTimeout(() => (part("copy").textContent = "Copy names"), 1500);
}

// Where a page from disk may not use the clipboard by itself.
function copyByHand(text) {
  const area = element("textarea", text, { class: "unseen" });
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}

function plural(number, what) {
  return `${number.toLocaleString("en")} ${what}${number === 1 ? "" : "s"}`;
}

function say(text) {
  part("status").textContent = text;
}
