import { isObject, textOr } from "../../manifest/json.js";
import type { AccessPath, Need } from "./access-path.js";
import { splitList, termOf } from "./expression.js";
import type { Node } from "./node.js";

const SORTED = ["equal", "range", "order"] as const satisfies readonly Need[];
const PRUNED = ["equal", "range"] as const satisfies readonly Need[];
const SKIPPED = ["equal", "range", "pattern"] as const satisfies readonly Need[];

/** Settings that tell how a table is stored. */
const SETTINGS = ["order_by", "primary_key", "partition_by", "indexes", "projections", "engine"] as const;

/** Whether a node says anything of how it is stored. */
export function tellsStorage({ config }: Node): boolean {
  return SETTINGS.some((setting) => config[setting] !== undefined && config[setting] !== null);
}

/** The sorting and primary key, partitions, data skipping indexes and projections. */
export function clickhousePaths({ config }: Node): readonly AccessPath[] {
  return [
    ...leading(config["order_by"], SORTED),
    ...leading(config["primary_key"], SORTED),
    ...splitList(config["partition_by"]).map((text) => pathOf(text, PRUNED)),
    ...objectsOf(config["indexes"]).map(({ definition }) => {
      const [expression = ""] = textOr(definition, "").split(/\stype\s/i);
      return pathOf(expression.trim(), SKIPPED);
    }),
    ...objectsOf(config["projections"]).flatMap(({ query }) => {
      const order = /\border\s+by\s+(.*)$/is.exec(textOr(query, ""))?.[1];
      return leading(order, SORTED);
    }),
  ];
}

function leading(key: unknown, needs: readonly Need[]): AccessPath[] {
  return splitList(key)
    .slice(0, 1)
    .map((text) => pathOf(text, needs));
}

function pathOf(text: string, needs: readonly Need[]): AccessPath {
  return { term: termOf(text), needs, throughFunctions: true };
}

function objectsOf(value: unknown) {
  return Array.isArray(value) ? value.filter(isObject) : [];
}
