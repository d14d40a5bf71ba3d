import { TIER_NAMES, TIERS, type Tier } from "@routewright/runtime/model";
import { chain, sentence } from "../../report/sentence.js";
import { member, type Node } from "../project/node.js";
import type { Check, Remark, Subject } from "./check.js";

/** Keys of a `meta` that mark private data in dbt projects. */
export const PRIVATE_KEYS = ["privacy_tier", "contains_pii"] as const;

/** An endpoint that a model with a mark of privacy feeds, below the tier that the mark asks for. */
export const privateData: Check = {
  find(subject, { privateKeys }) {
    const { node, ancestors, entry } = subject;
    const columns = entry.endpoint.columns.map(({ name }) => name);
    return [{ node, way: [node.name] }, ...ancestors].flatMap((source) => {
      const marks = marksOf(source.node, columns, privateKeys);
      const [strictest] = marks.toSorted((a, b) => TIERS.indexOf(b.tier) - TIERS.indexOf(a.tier));
      if (!strictest || TIERS.indexOf(strictest.tier) <= TIERS.indexOf(entry.endpoint.tier)) return [];
      return [remark(subject, source.node, source.way, strictest)];
    });
  },
};

interface Mark {
  /** In the marked node, as a JSON path. */
  readonly path: string;
  /** The lowest tier that may see what is marked. */
  readonly tier: Tier;
}

/** The marks of a node, and of those of its columns that the endpoint has too, by name. */
function marksOf(node: Node, carried: readonly string[], keys: readonly string[]): readonly Mark[] {
  const columns = carried.flatMap((name) => node.columns.get(name) ?? []);
  return [...node.metas, ...columns.flatMap(({ metas }) => metas)].flatMap(({ path, value }) =>
    keys
      .filter((key) => Object.hasOwn(value, key))
      .map((key) => ({ path: path + member(key), tier: tierOf(value[key]) })),
  );
}

const NO: readonly unknown[] = ["", "false", "no", "none", "null"];

/** A mark may name a tier, by number or by what people call it; any other that does not say no asks for the highest. */
function tierOf(mark: unknown): Tier {
  const text = typeof mark === "string" ? mark.trim().toLowerCase() : null;
  const named = TIERS.find((tier) => text === tier || text === TIER_NAMES[tier].toLowerCase());
  if (named) return named;
  const isEmpty = Array.isArray(mark) ? mark.length === 0 : mark === null || mark === false || mark === 0;
  return isEmpty || NO.includes(text) ? "tier0" : "tier3";
}

function remark({ entry, node }: Subject, marked: Node, way: readonly string[], mark: Mark): Remark {
  return {
    path: marked === node ? mark.path : "$.depends_on.nodes",
    message: sentence`Callers of ${entry.endpoint.tier} get data that ${marked.name} keeps for ${mark.tier} and above, by its ${mark.path}: ${chain(way)}.`,
    hint: sentence`Tag this model ${mark.tier}, or leave what is private out of what feeds it.`,
  };
}
