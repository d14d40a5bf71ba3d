import { isObject, textOr, textsOf } from "../../manifest/json.js";
import type { AccessPath, Need } from "./access-path.js";
import { termOf } from "./expression.js";
import type { Node } from "./node.js";

const ALL = ["equal", "range", "pattern", "order"] as const satisfies readonly Need[];
const TREE = ["equal", "range", "order"] as const satisfies readonly Need[];

/** What each index method can find; one that is not listed is not guessed at. */
const METHODS: Readonly<Record<string, readonly Need[]>> = {
  btree: TREE,
  hash: ["equal"],
  brin: ["equal", "range"],
  gin: ["equal", "pattern"],
  gist: ["equal", "range", "pattern"],
};

/** `config.indexes`, and the indexes behind `primary_key` and `unique` constraints. */
export function postgresPaths({ config, columns, constraints }: Node): readonly AccessPath[] {
  const declared = Array.isArray(config["indexes"]) ? config["indexes"].filter(isObject) : [];
  const ofColumns = [...columns.values()].flatMap(({ name, constraints }) =>
    constraints.some(hasIndex) ? [[name]] : [],
  );
  const ofTable = constraints.filter(hasIndex).map(({ columns }) => textsOf(columns));
  return [
    ...declared.flatMap((index) => {
      const method = textOr(index["type"], "btree").toLowerCase();
      return pathOf(textsOf(index["columns"]), METHODS[method] ?? ALL);
    }),
    ...[...ofColumns, ...ofTable].flatMap((key) => pathOf(key, TREE)),
  ];
}

function hasIndex({ type }: { readonly type?: unknown }): boolean {
  return type === "primary_key" || type === "unique";
}

function pathOf([first]: readonly string[], needs: readonly Need[]): AccessPath[] {
  return first === undefined ? [] : [{ term: termOf(first.trim()), needs, throughFunctions: false }];
}
