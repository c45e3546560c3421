// What is in a selection: its categories beside those of all nodes, means of numbers, and nodes linked to many of its nodes.

const SUMMARY_LINES = 5; // of each kind

function drawSummary() {
  const rows = state.selected ? [...state.selected] : [];
  const shown = columns[state.column];
  const ordered = [shown, ...columns.filter((column) => column !== shown)];
  const parts = rows.length ? [...ordered.flatMap((column) => columnSummary(column, rows)), ...linkedSummary(rows)] : [];
  byId("summary").replaceChildren(...parts);
}

function columnSummary(column, rows) {
  if (column.kind === "none") return [];
  return [summaryList(column.name, column.kind === "numbers" ? numberLines(column, rows) : categoryLines(column, rows))];
}

function numberLines(column, rows) {
  const mean = (list) => {
    const known = list.map((row) => column.values[row]).filter((value) => !Number.isNaN(value));
    return known.length ? known.reduce((sum, value) => sum + value, 0) / known.length : NaN;
  };
  const short = (value) => (column.isDate ? column.format(value).slice(0, 10) : column.format(Number(value.toPrecision(4))));
  return [["mean", short(mean(rows)), `all nodes: ${short(mean(allRows))}`]];
}

const allRows = Array.from({ length: count }, (_, row) => row);

function categoryLines(column, rows) {
  const tally = (list) => {
    const sizes = new Map();
    list.forEach((row) => sizes.set(column.text(row), (sizes.get(column.text(row)) ?? 0) + 1));
    return sizes;
  };
  const everywhere = tally(allRows);
  const found = [...tally(rows)].sort((a, b) => b[1] - a[1]);
  const percent = (part, total) => `${Math.round((100 * part) / total)} %`;
  const lines = found.slice(0, SUMMARY_LINES).map(([text, size]) => [
    text,
    `${size.toLocaleString("en")} (${percent(size, rows.length)})`,
    `all nodes: ${percent(everywhere.get(text), count)}`,
  ]);
  return found.length > SUMMARY_LINES ? [...lines, [`${found.length - SUMMARY_LINES} more`, "", ""]] : lines;
}

// Nodes outside of the selection with edges to the most of its nodes.
function linkedSummary(rows) {
  if (!edges) return [];
  const links = new Map();
  rows.forEach((row) => linkedRows(row).forEach((other) => !state.selected.has(other) && links.set(other, (links.get(other) ?? 0) + 1)));
  const best = [...links].filter(([, number]) => number > 1).sort((a, b) => b[1] - a[1] || a[0] - b[0]).slice(0, SUMMARY_LINES);
  const inside = rows.reduce((sum, row) => sum + linkedRows(row).filter((other) => state.selected.has(other)).length, 0) / 2;
  const within = summaryList("edges within the selection", [[plural(inside, "edge"), "", ""]]);
  if (!best.length) return [within];
  const lines = best.map(([row, number]) => [names[row], plural(number, "edge"), ""]);
  return [within, summaryList("other nodes with the most edges to it", lines)];
}

function summaryList(title, lines) {
  const section = element("div", "", { class: "summary" });
  section.append(element("h3", truncate(title, 60)));
  lines.forEach(([name, value, note]) => {
    const line = element("p", "", { title: note });
    line.append(element("span", truncate(name, 60), { class: "name" }), element("span", value), element("span", note, { class: "score" }));
    section.append(line);
  });
  return section;
}
