import type { LineageNode } from "../catalogue-body.js";
import { count, el, svg } from "./dom.js";

const WIDTH = 190;
const HEIGHT = 40;
const GAP_X = 56;
const GAP_Y = 14;

/** Maximum number of nodes; of a larger graph only the nearest nodes are drawn. */
const MAX_NODES = 60;

/** The upstream nodes of an endpoint's model, drawn from left to right, and as a list for screen readers. */
export function lineageGraph(model: string, all: ReadonlyMap<string, LineageNode>): HTMLElement | null {
  const { nodes, isCut } = nodesAbove(model, all);
  if (nodes.size < 2) return null;
  const columns = columnsOf(model, nodes);
  const height = Math.max(...columns.map((column) => column.length)) * (HEIGHT + GAP_Y) - GAP_Y;
  const places = new Map(
    columns.flatMap((column, x) => {
      const top = (height - column.length * (HEIGHT + GAP_Y) + GAP_Y) / 2;
      return column.map((id, y) => [id, { x: x * (WIDTH + GAP_X), y: top + y * (HEIGHT + GAP_Y) }] as const);
    }),
  );
  const width = columns.length * (WIDTH + GAP_X) - GAP_X;
  const label = `What ${nameOf(model, nodes)} is made from: ${count(nodes.size - 1, "node")}.`;
  const edges = [...nodes.values()].flatMap(({ id, parents }) =>
    parents.flatMap((parent) => edge(places.get(parent), places.get(id))),
  );
  const boxes = [...places].map(([id, { x, y }]) => box(nodes.get(id), x, y, id === model));
  const size = {
    width: width + 4,
    height: height + 4,
    viewBox: `-2 -2 ${String(width + 4)} ${String(height + 4)}`,
  };
  const frame = el(
    "div",
    { class: "wide", tabindex: 0, role: "region", "aria-label": "Lineage graph" },
    svg("svg", { role: "img", "aria-label": label, ...size }, ...edges, ...boxes),
  );
  // The model is at the right end: a wide graph is scrolled there.
  requestAnimationFrame(() => (frame.scrollLeft = frame.scrollWidth));
  return el(
    "div",
    { class: "lineage" },
    frame,
    isCut && el("p", { class: "note" }, `Only the nearest ${String(MAX_NODES)} nodes are drawn.`),
    asList(nodes, model),
  );
}

function nodesAbove(model: string, all: ReadonlyMap<string, LineageNode>) {
  const nodes = new Map<string, LineageNode>();
  const queue = [model];
  for (const id of queue) {
    const node = all.get(id);
    if (node === undefined || nodes.has(id)) continue;
    if (nodes.size === MAX_NODES) return { nodes, isCut: true };
    nodes.set(id, node);
    queue.push(...node.parents);
  }
  return { nodes, isCut: false };
}

/** Places each node left of the nodes that read it. At most one pass per node, so that a cycle ends too. */
function columnsOf(model: string, nodes: ReadonlyMap<string, LineageNode>): readonly (readonly string[])[] {
  const depths = new Map([[model, 0]]);
  for (let round = 0; round < nodes.size; round++) {
    let changed = false;
    for (const { id, parents } of nodes.values()) {
      const depth = (depths.get(id) ?? 0) + 1;
      for (const parent of parents) {
        if (!nodes.has(parent) || (depths.get(parent) ?? -1) >= depth || depth > nodes.size) continue;
        depths.set(parent, depth);
        changed = true;
      }
    }
    if (!changed) break;
  }
  const columns: string[][] = [];
  for (const [id, depth] of depths) (columns[depth] ??= []).push(id);
  return columns
    .filter((column) => column.length > 0)
    .map((column) => column.sort())
    .reverse();
}

interface Place {
  readonly x: number;
  readonly y: number;
}

function edge(from: Place | undefined, to: Place | undefined): SVGElement[] {
  if (from === undefined || to === undefined) return [];
  const [x1, y1] = [from.x + WIDTH, from.y + HEIGHT / 2];
  const [x2, y2] = [to.x, to.y + HEIGHT / 2];
  const middle = (x1 + x2) / 2;
  const path = [
    `M${String(x1)},${String(y1)}`,
    `C${String(middle)},${String(y1)}`,
    `${String(middle)},${String(y2)}`,
  ];
  return [svg("path", { class: "edge", d: `${path.join(" ")} ${String(x2)},${String(y2)}` })];
}

function box(node: LineageNode | undefined, x: number, y: number, isModel: boolean): SVGElement {
  const { name = "", kind = "", tests = null } = node ?? {};
  const state = tests !== null && tests.failed > 0 ? " failed" : "";
  return svg(
    "g",
    {
      class: `node ${kind}${isModel ? " own" : ""}${state}`,
      transform: `translate(${String(x)},${String(y)})`,
    },
    svg("title", {}, `${kind} ${name}`),
    svg("rect", { width: WIDTH, height: HEIGHT, rx: 7 }),
    svg("text", { x: 12, y: 17, class: "kind" }, kind),
    svg("text", { x: 12, y: 31 }, name.length > 26 ? `${name.slice(0, 25)}…` : name),
  );
}

function asList(nodes: ReadonlyMap<string, LineageNode>, model: string): HTMLElement {
  const items = [...nodes.values()].map(({ name, kind, parents }) => {
    const reads = parents.map((id) => nameOf(id, nodes)).join(", ");
    return el("li", {}, `${kind} ${name}${reads === "" ? "" : ` reads ${reads}`}`);
  });
  return el("details", {}, el("summary", {}, `As a list (${nameOf(model, nodes)})`), el("ul", {}, ...items));
}

function nameOf(id: string, nodes: ReadonlyMap<string, LineageNode>): string {
  return nodes.get(id)?.name ?? id.split(".").slice(2).join(".");
}
