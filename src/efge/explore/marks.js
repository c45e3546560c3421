// Marks over the map, on a canvas of their own: the picked node, its neighbors and its edges, and the node pointed at.
// The cloud of points need not be drawn again for them, and text on a canvas is never more than text.

const marksElement = document.getElementById("marks");
const tip = document.getElementById("tip");
const RING = markerSize / 2 + 3;

function drawMarks() {
  const pen = cleanPen();
  if (state.picked >= 0) {
    drawEdges(pen, state.picked);
    const neighbors = nearestTo(state.picked).filter(({ row }) => isShown(row));
    neighbors.forEach(({ row }) => drawRing(pen, row, RING, themed("--near"), 2));
    drawRing(pen, state.picked, RING + 3, themed("--accent"), 3);
    drawName(pen, state.picked);
  }
  if (state.pointed >= 0) drawRing(pen, state.pointed, RING + 1, themed("--text"), 1.5);
}

// Wiped in two strips: Chromium at times forgets to wipe a canvas whole, where nothing is drawn on it afterwards.
function cleanPen() {
  const density = window.devicePixelRatio || 1;
  const [width, height] = [mapElement.clientWidth, mapElement.clientHeight].map((size) => Math.round(size * density));
  if (marksElement.width !== width || marksElement.height !== height) Object.assign(marksElement, { width, height });
  const pen = marksElement.getContext("2d");
  pen.setTransform(1, 0, 0, 1, 0, 0);
  pen.clearRect(0, 0, width, height / 2);
  pen.clearRect(0, height / 2 - 1, width, height);
  pen.scale(density, density);
  return pen;
}

function drawEdges(pen, row) {
  const from = placeOf(row);
  pen.beginPath();
  for (const other of linkedTo(row).filter(isShown)) {
    const to = placeOf(other);
    pen.moveTo(from.x, from.y);
    pen.lineTo(to.x, to.y);
  }
  pen.strokeStyle = themed("--edge");
  pen.lineWidth = 1.2;
  pen.stroke();
}

function drawRing(pen, row, radius, color, width) {
  const { x, y } = placeOf(row);
  pen.beginPath();
  pen.arc(x, y, radius, 0, 2 * Math.PI);
  pen.strokeStyle = color;
  pen.lineWidth = width;
  pen.stroke();
}

function drawName(pen, row) {
  const { x, y } = placeOf(row);
  const text = shortened(names[row], 40);
  pen.font = "600 13px system-ui, sans-serif";
  pen.textBaseline = "middle";
  const isRight = x + RING + 12 + pen.measureText(text).width < mapElement.clientWidth;
  pen.textAlign = isRight ? "left" : "right";
  const at = x + (isRight ? 1 : -1) * (RING + 10);
  pen.strokeStyle = themed("--surface");
  pen.lineWidth = 4;
  pen.lineJoin = "round";
  pen.strokeText(text, at, y);
  pen.fillStyle = themed("--text");
  pen.fillText(text, at, y);
}

function shortened(text, length) {
  const letters = Array.from(text.slice(0, 2 * length + 2));
  return letters.length > length ? `${letters.slice(0, length - 1).join("")}…` : text;
}

function pointAt(row) {
  state.pointed = row;
  drawMarks();
}

function stopPointing() {
  hideTip();
  pointAt(-1);
}

function showTip(row) {
  const values = columns.filter((column) => column.kind !== "none").slice(0, 12);
  tip.replaceChildren(
    element("strong", shortened(names[row], 80)),
    ...values.map((column) => element("span", `${shortened(column.name, 40)}: ${shortened(column.text(row), 80)}`)),
  );
  tip.hidden = false;
  const { x, y } = placeOf(row);
  const room = (at, size, whole) => Math.max(4, at + 14 + size < whole ? at + 14 : at - 14 - size);
  tip.style.left = `${room(x, tip.offsetWidth, mapElement.clientWidth)}px`;
  tip.style.top = `${room(y, tip.offsetHeight, mapElement.clientHeight)}px`;
}

function hideTip() {
  tip.hidden = true;
}

function element(tag, text = "", attributes = {}) {
  const made = document.createElement(tag);
  made.textContent = text;
  Object.entries(attributes).forEach(([name, value]) => made.setAttribute(name, value));
  return made;
}
