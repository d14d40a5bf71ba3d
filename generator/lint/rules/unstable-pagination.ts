import { isView } from "../../manifest/graph.js";
import { textsOf } from "../../manifest/json.js";
import { list, plain, sentence, type Sentence } from "../../manifest/strings.js";
import type { Check, LintedEndpoint } from "../finding.js";
import type { Node, Project } from "../project.js";

/** A paginated endpoint whose sort keys are not unique: the database may order tied rows differently for each page. */
export const unstablePagination: Check = (linted, { project }) => {
  const { endpoint } = linted.entry;
  if (endpoint.pagination === null) return [];
  // With cursors every sort ends with a proven key.
  if (endpoint.cursor !== undefined) return [];
  const sorted = endpoint.sort.map(([column]) => column);
  const keys = uniqueKeysOf(linted.node, project);
  if (keys.some((key) => key.every((column) => sorted.includes(column)))) return [];
  const path = sorted.length === 0 ? `${linted.apiPath}.pagination` : `${linted.apiPath}.sort`;
  return [{ path, message: messageFor(sorted), hint: hintFor(linted, keys, project) }];
};

function messageFor(sorted: readonly string[]): Sentence {
  if (sorted.length === 0)
    return sentence`Rows have no fixed order: it may differ between pages, so a caller that pages with \`offset\` can get some rows twice and miss others.`;
  return sentence`Rows are sorted by ${list(sorted)}, which nothing declares unique: the order of tied rows may differ between pages, so a caller that pages with \`offset\` can get some rows twice and miss others.`;
}

function hintFor({ entry }: LintedEndpoint, keys: readonly UniqueKey[], { engine }: Project): Sentence {
  const columns = entry.endpoint.columns.map(({ name }) => name);
  const known = keys.find((key) => key.every((column) => columns.includes(column)));
  if (known) return sentence`End \`sort\` with the columns of a unique key: ${list(known)}.`;
  const sorting =
    engine === "clickhouse"
      ? " (not `order_by` or `primary_key`, which ClickHouse does not keep unique)"
      : "";
  return plain(
    `End \`sort\` with columns that identify a row, and declare them unique: a \`unique\` or \`dbt_utils.unique_combination_of_columns\` test, a constraint, or \`unique_key\`${sorting}.`,
  );
}

/** Columns whose combined values are different in every row. */
type UniqueKey = readonly string[];

/**
 * The unique keys of a node: from constraints, tests, unique indexes or `unique_key`. A view of a single node is assumed to
 * keep that node's keys. ClickHouse's `order_by` and `primary_key` do not count: they only sort.
 */
function uniqueKeysOf(start: Node, project: Project): readonly UniqueKey[] {
  const keys: UniqueKey[] = [];
  const seen = new Set<string>();
  for (
    let node: Node | undefined = start;
    node && !seen.has(node.uniqueId);
    node = onlyParent(node, project)
  ) {
    seen.add(node.uniqueId);
    keys.push(...ownKeys(node), ...(project.testedKeys.get(node.uniqueId) ?? []));
  }
  return keys;
}

function onlyParent(node: Node, { nodes }: Project): Node | undefined {
  const [parent, another] = node.parents;
  return isView(node) && parent !== undefined && another === undefined ? nodes.get(parent) : undefined;
}

function ownKeys(node: Node): readonly UniqueKey[] {
  const columns = [...node.columns.values()].filter(({ constraints }) => constraints.some(isUnique));
  const indexes = Array.isArray(node.config["indexes"]) ? node.config["indexes"] : [];
  const multiColumn = [...node.constraints.filter(isUnique), ...indexes.filter(isUniqueIndex)];
  return [
    ...columns.map(({ name }) => [name]),
    ...multiColumn.map(({ columns }) => textsOf(columns)),
    ...hookKeysOf(node),
    uniqueKeyOf(node),
  ].filter((key) => key.length > 0);
}

/** The columns of `create unique index … on … (a, b)` in a hook; an index with a `where` covers some rows only. */
function hookKeysOf({ config }: Node): readonly UniqueKey[] {
  const hooks = JSON.stringify([config["post-hook"], config["pre-hook"]]);
  const found = hooks.matchAll(/create\s+unique\s+index\b[^()]*\(([^()]*)\)(?!\s*where)/gi);
  return [...found].map(([, columns = ""]) =>
    splitList(columns).map((column) => column.replaceAll(/[\\"]/g, "")),
  );
}

function isUnique({ type }: { readonly type?: unknown }): boolean {
  return type === "unique" || type === "primary_key";
}

function isUniqueIndex(index: unknown): index is { readonly columns?: unknown } {
  return (index as { readonly unique?: unknown } | null)?.unique === true;
}

/** Strategies under which dbt keeps several rows of one `unique_key`. */
const KEEP_DUPLICATES: readonly unknown[] = ["append", "insert_overwrite", "microbatch"];

/** The columns of `unique_key`. None for a snapshot, which has a row per version of each key. */
function uniqueKeyOf({ kind, config }: Node): UniqueKey {
  if (kind !== "model" || KEEP_DUPLICATES.includes(config["incremental_strategy"])) return [];
  return splitList(config["unique_key"]);
}

/** The expressions of a setting: of a list, or of text such as `(date, lower(name))`; `tuple()` has none. */
function splitList(value: unknown): readonly string[] {
  const texts = typeof value === "string" ? [value] : textsOf(value);
  return texts.flatMap((text) => splitText(inTuple(text.trim()))).filter((text) => text !== "");
}

/** The text without parentheses around the whole of it. */
function inTuple(text: string): string {
  const inner = /^(?:tuple\s*)?\((.*)\)$/is.exec(text)?.[1];
  return inner !== undefined && isBalanced(inner) ? inner : text;
}

function isBalanced(text: string): boolean {
  let depth = 0;
  for (const character of text) {
    depth += DEPTHS[character] ?? 0;
    if (depth < 0) return false;
  }
  return true;
}

const DEPTHS: Readonly<Record<string, number>> = { "(": 1, ")": -1, "[": 1, "]": -1 };

/** Splits at the commas that stand outside all parentheses. */
function splitText(text: string): readonly string[] {
  const ends: number[] = [];
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    const character = text.charAt(i);
    depth += DEPTHS[character] ?? 0;
    if (character === "," && depth === 0) ends.push(i);
  }
  const starts = [0, ...ends.map((end) => end + 1)];
  return starts.map((start, i) => text.slice(start, ends[i]).trim());
}
