// A canvas above the map with the picked node, its neighbors and edges, and the hovered node.
// Changing it does not redraw the points, and text on a canvas is never interpreted as HTML.

const overlayElement = document.getElementById("overlay");
const tooltip = document.getElementById("tooltip");
const RING = markerSize / 2 + 3;

function drawOverlay() {
  const context = clearOverlay();
  drawLabels(context);
  if (state.picked >= 0) {
    drawEdges(context, state.picked);
    const neighbors = nearestNeighbors(state.picked).filter(({ row }) => isVisible(row));
    neighbors.forEach(({ row }) => drawRing(context, row, RING, themeColor("--neighbor"), 2));
    drawRing(context, state.picked, RING + 3, themeColor("--accent"), 3);
    drawName(context, state.picked);
  }
  if (state.hovered >= 0) drawRing(context, state.hovered, RING + 1, themeColor("--text"), 1.5);
}

// Clear in two strips: Chromium sometimes fails to clear a full canvas on which nothing is drawn afterwards.
function clearOverlay() {
  const density = window.devicePixelRatio || 1;
  const [width, height] = [mapElement.clientWidth, mapElement.clientHeight].map((size) => Math.round(size * density));
  if (overlayElement.width !== width || overlayElement.height !== height) Object.assign(overlayElement, { width, height });
  // Until it is drawn again, it keeps the size of the map beneath, which the browser does not stretch either.
  Object.assign(overlayElement.style, { width: `${mapElement.clientWidth}px`, height: `${mapElement.clientHeight}px` });
  const context = overlayElement.getContext("2d");
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.clearRect(0, 0, width, height / 2);
  context.clearRect(0, height / 2 - 1, width, height);
  context.scale(density, density);
  return context;
}

function drawEdges(context, row) {
  const from = nodePosition(row);
  context.beginPath();
  for (const other of linkedRows(row).filter(isVisible)) {
    const to = nodePosition(other);
    context.moveTo(from.x, from.y);
    context.lineTo(to.x, to.y);
  }
  context.strokeStyle = themeColor("--edge");
  context.lineWidth = 1.2;
  context.stroke();
}

function drawRing(context, row, radius, color, width) {
  const { x, y } = nodePosition(row);
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.strokeStyle = color;
  context.lineWidth = width;
  context.stroke();
}

function drawName(context, row) {
  const { x, y } = nodePosition(row);
  const text = truncate(names[row], 40);
  context.font = "600 13px system-ui, sans-serif";
  context.textBaseline = "middle";
  const isRight = x + RING + 12 + context.measureText(text).width < mapElement.clientWidth;
  context.textAlign = isRight ? "left" : "right";
  const at = x + (isRight ? 1 : -1) * (RING + 10);
  context.strokeStyle = themeColor("--surface");
  context.lineWidth = 4;
  context.lineJoin = "round";
  context.strokeText(text, at, y);
  context.fillStyle = themeColor("--text");
  context.fillText(text, at, y);
}

function truncate(text, length) {
  const letters = Array.from(text.slice(0, 2 * length + 2));
  return letters.length > length ? `${letters.slice(0, length - 1).join("").trimEnd()}…` : text;
}

function hover(row) {
  state.hovered = row;
  drawOverlay();
}

function stopHover() {
  hideTooltip();
  hover(-1);
}

function showTooltip(row) {
  const values = columns.filter((column) => column.kind !== "none").slice(0, 12);
  tooltip.replaceChildren(
    element("strong", truncate(names[row], 80)),
    ...values.map((column) => element("span", `${truncate(column.name, 40)}: ${truncate(column.text(row), 80)}`)),
  );
  tooltip.hidden = false;
  const { x, y } = nodePosition(row);
  const offset = (at, size, limit) => Math.max(4, at + 14 + size < limit ? at + 14 : at - 14 - size);
  tooltip.style.left = `${offset(x, tooltip.offsetWidth, mapElement.clientWidth)}px`;
  tooltip.style.top = `${offset(y, tooltip.offsetHeight, mapElement.clientHeight)}px`;
}

function hideTooltip() {
  tooltip.hidden = true;
}

function element(tag, text = "", attributes = {}) {
  const created = document.createElement(tag);
  created.textContent = text;
  Object.entries(attributes).forEach(([name, value]) => created.setAttribute(name, value));
  return created;
}
