// The lineage as a picture: responses as circles from left to right, a line from each to what continues it. A click, or
// Enter, selects one; the arrow keys go from one to the next. Drawn by elements; names are text.

const SVG = "http://www.w3.org/2000/svg";
const [ACROSS, DOWN, EDGE] = [110, 28, 16];

const shape = (tag, attributes, ...children) => {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
};

/** The picture of `nodes`, each { id, parent, lane, state }, parents before children. */
export function tree(nodes, selected, select) {
  const places = place(nodes);
  const columns = Math.max(0, ...[...places.values()].map(([x]) => x));
  const rows = Math.max(0, ...[...places.values()].map(([, y]) => y));
  const [width, height] = [EDGE * 2 + columns * ACROSS + 90, EDGE * 2 + rows * DOWN];
  const at = (id) => [EDGE + places.get(id)[0] * ACROSS, EDGE + places.get(id)[1] * DOWN];
  const svg = shape("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": "Lineage" });
  for (const { id, parent } of nodes) {
    if (!places.has(parent)) continue;
    const [[x1, y1], [x2, y2]] = [at(parent), at(id)];
    const bend = (x1 + x2) / 2;
    svg.append(shape("path", { class: "nbb-edge", d: `M${x1} ${y1} C${bend} ${y1} ${bend} ${y2} ${x2} ${y2}` }));
  }
  const first = places.has(selected) ? selected : nodes[0]?.id; // the one that Tab reaches
  for (const node of nodes) svg.append(circle(node, at(node.id), node.id === selected, node.id === first, select));
  return nodes.length ? svg : document.createTextNode("");
}

function circle(node, [x, y], chosen, reached, select) {
  const dot = shape("circle", { cx: x, cy: y, r: 7 });
  const name = shape("text", { x: x + 12, y: y + 4 }, node.lane.length > 12 ? `${node.lane.slice(0, 11)}…` : node.lane);
  const title = shape("title", {}, `${node.lane}: ${node.state}`);
  const made = shape("g", { class: "nbb-node", role: "button", "data-state": node.state }, title, dot, name);
  made.setAttribute("aria-label", `${node.lane}, ${node.state}`);
  made.setAttribute("aria-pressed", String(chosen));
  made.setAttribute("tabindex", reached ? 0 : -1);
  made.dataset.id = node.id;
  made.onclick = () => select(node.id);
  made.onkeydown = (key) => {
    if (key.key === "Enter" || key.key === " ") select(node.id);
    else if (!step(made, key.key)) return;
    key.preventDefault();
  };
  return made;
}

/** Go to the response before or after, in the order of the picture's nodes. */
function step(node, key) {
  const way = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[key];
  if (!way) return false;
  const all = [...node.parentNode.querySelectorAll(".nbb-node")];
  const next = all[all.indexOf(node) + way];
  if (next) {
    all.forEach((each) => each.setAttribute("tabindex", each === next ? 0 : -1));
    next.focus();
  }
  return true;
}

/** Columns by depth; rows so that a lane goes straight on, and a fork gets a row of its own. */
function place(nodes) {
  const straight = new Map(); // parent → the child that stays on its row: of its own lane, else the first
  const lanes = new Map(nodes.map(({ id, lane }) => [id, lane]));
  for (const { id, parent, lane } of nodes) {
    if (!straight.has(parent) || (lane === lanes.get(parent) && lanes.get(straight.get(parent)) !== lane)) {
      straight.set(parent, id);
    }
  }
  const places = new Map();
  let rows = 0;
  for (const { id, parent } of nodes) {
    const from = places.get(parent);
    places.set(id, from ? [from[0] + 1, straight.get(parent) === id ? from[1] : rows++] : [0, rows++]);
  }
  return places;
}
