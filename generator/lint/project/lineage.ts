import type { Node } from "./node.js";
import type { Project } from "./project.js";

/** A node and how its data comes to another: the nodes from it to that one, by the shortest way. */
export interface Ancestor {
  readonly node: Node;
  /** Names, from the ancestor to the node that it feeds, both included. */
  readonly way: readonly string[];
}

/** Everything that feeds a node through `depends_on`, nearest first; a parent that the manifest lacks is passed over. */
export function ancestorsOf(start: Node, { nodes }: Project): readonly Ancestor[] {
  const ways = new Map<string, Ancestor>([[start.uniqueId, { node: start, way: [start.name] }]]);
  // A map can be extended while it is walked: this is a breadth-first search.
  for (const { node, way } of ways.values()) {
    for (const id of node.parents) {
      const parent = nodes.get(id);
      if (parent && !ways.has(id)) ways.set(id, { node: parent, way: [parent.name, ...way] });
    }
  }
  return [...ways.values()].slice(1);
}
