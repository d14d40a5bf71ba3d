import type { UpstreamNode } from "../catalogue-body.js";
import { count, el, svg } from "./dom.js";

const WIDTH = 250;
const HEIGHT = 40;
const GAP_X = 56;
const GAP_Y = 14;

/** Longer names are cut in the middle: they differ at both ends. */
const MAX_NAME = 33;

/** Maximum number of nodes; of a larger graph only the nearest nodes are drawn. */
const MAX_NODES = 60;

/** The upstream nodes of an endpoint's model, drawn from left to right, and as a list for screen readers. */
export function lineageGraph(model: string, all: ReadonlyMap<string, UpstreamNode>): HTMLElement | null {
  const { nodes, isCut } = nodesAbove(model, all);
  if (nodes.size < 2) return null;
  const depths = depthsOf(model, nodes);
  const edges = [...nodes.values()].flatMap(({ id, parents }) =>
    parents.filter((parent) => nodes.has(parent)).map((parent) => waypoints(parent, id, depths)),
  );
  const columns = columnsOf(depths, edges);
  const height = Math.max(...columns.map((column) => column.length)) * (HEIGHT + GAP_Y) - GAP_Y;
  const places = new Map(
    columns.flatMap((column, x) => {
      const top = (height - column.length * (HEIGHT + GAP_Y) + GAP_Y) / 2;
      return column.map((id, y) => [id, { x: x * (WIDTH + GAP_X), y: top + y * (HEIGHT + GAP_Y) }] as const);
    }),
  );
  const width = columns.length * (WIDTH + GAP_X) - GAP_X;
  const label = `What ${nameOf(model, nodes)} is made from: ${count(nodes.size - 1, "node")}.`;
  const lines = edges.map((points) => edge(points.flatMap((id) => places.get(id) ?? [])));
  const boxes = [...places].flatMap(([id, place]) => {
    const node = nodes.get(id);
    return node === undefined ? [] : [box(node, place, id === model)];
  });
  const size = {
    width: width + 4,
    height: height + 4,
    viewBox: `-2 -2 ${String(width + 4)} ${String(height + 4)}`,
  };
  const frame = el(
    "div.wide",
    { tabindex: 0, role: "region", "aria-label": "Lineage graph" },
    svg("svg", { role: "img", "aria-label": label, ...size }, ...lines, ...boxes),
  );
  // The model is at the right end: a wide graph is scrolled there.
  requestAnimationFrame(() => (frame.scrollLeft = frame.scrollWidth));
  return el(
    "div.lineage",
    frame,
    isCut && el("p.note", `Only the nearest ${String(MAX_NODES)} nodes are drawn.`),
    asList(nodes, model),
  );
}

function nodesAbove(model: string, all: ReadonlyMap<string, UpstreamNode>) {
  const nodes = new Map<string, UpstreamNode>();
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

/** The longest way from each node to the model. At most one pass per node, so that a cycle ends too. */
function depthsOf(model: string, nodes: ReadonlyMap<string, UpstreamNode>): ReadonlyMap<string, number> {
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
  return depths;
}

/** The ids from a parent to its reader. An edge takes a place of its own in each column between, so that it passes beside nodes. */
function waypoints(parent: string, id: string, depths: ReadonlyMap<string, number>): readonly string[] {
  const [from, to] = [depths.get(parent) ?? 0, depths.get(id) ?? 0];
  const between = Array.from(
    { length: Math.max(0, from - to - 1) },
    (_, i) => `${parent} ${id} ${String(i)}`,
  );
  return [parent, ...between, id];
}

/** The ids of each column, from left to right. */
function columnsOf(
  depths: ReadonlyMap<string, number>,
  edges: readonly (readonly string[])[],
): readonly (readonly string[])[] {
  const columns: string[][] = [];
  for (const [id, depth] of depths) (columns[depth] ??= []).push(id);
  for (const [parent = "", ...rest] of edges)
    for (const [i, id] of rest.slice(0, -1).entries()) columns[(depths.get(parent) ?? 0) - 1 - i]?.push(id);
  return columns
    .filter((column) => column.length > 0)
    .map((column) => column.sort())
    .reverse();
}

interface Place {
  readonly x: number;
  readonly y: number;
}

function edge(places: readonly Place[]): Element {
  const parts = places.map(({ x, y }, i) => {
    const middle = y + HEIGHT / 2;
    if (i === 0) return `M${String(x + WIDTH)},${String(middle)}`;
    const last = places[i - 1];
    const before = (last?.y ?? 0) + HEIGHT / 2;
    const turn = String(x - GAP_X / 2);
    const curve = `C${turn},${String(before)} ${turn},${String(middle)} ${String(x)},${String(middle)}`;
    return i === places.length - 1 ? curve : `${curve} h${String(WIDTH)}`;
  });
  return svg("path.edge", { d: parts.join(" ") });
}

function box({ name, kind, tests }: UpstreamNode, { x, y }: Place, isModel: boolean): Element {
  const state = tests !== null && tests.failed > 0 ? " failed" : "";
  return svg(
    "g",
    {
      class: `node ${kind}${isModel ? " own" : ""}${state}`,
      transform: `translate(${String(x)},${String(y)})`,
    },
    svg("title", `${kind} ${name}`),
    svg("rect", { width: WIDTH, height: HEIGHT, rx: 7 }),
    svg("text.kind", { x: 12, y: 17 }, kind),
    svg("text", { x: 12, y: 31 }, name.length > MAX_NAME ? `${name.slice(0, 18)}…${name.slice(-14)}` : name),
  );
}

function asList(nodes: ReadonlyMap<string, UpstreamNode>, model: string): HTMLElement {
  const items = [...nodes.values()].map(({ name, kind, parents }) => {
    const reads = parents.map((id) => nameOf(id, nodes)).join(", ");
    return el("li", `${kind} ${name}${reads === "" ? "" : ` reads ${reads}`}`);
  });
  return el("details", el("summary", `As a list (${nameOf(model, nodes)})`), el("ul", ...items));
}

function nameOf(id: string, nodes: ReadonlyMap<string, UpstreamNode>): string {
  return nodes.get(id)?.name ?? id.split(".").slice(2).join(".");
}
