import { type JsonObject, objectOr, textOr, textsOf } from "./json.js";
import { refOf } from "./columns.js";
import { byText } from "./strings.js";

/** Columns that a test of the project finds unique together, by the tested node's `unique_id`. */
export function testedKeysOf(nodes: JsonObject): ReadonlyMap<string, readonly (readonly string[])[]> {
  const keys = new Map<string, (readonly string[])[]>();
  const inOrder = Object.entries(nodes).sort(([a], [b]) => byText(a, b));
  for (const [, value] of inOrder) {
    const node = objectOr(value);
    const key = testedKeyOf(node);
    if (key.length > 0) keys.set(testedModel(node), [...(keys.get(testedModel(node)) ?? []), key]);
  }
  return keys;
}

function testedKeyOf(node: JsonObject): readonly string[] {
  if (isBindingTest(node, "unique")) return textsOf([node["column_name"]]);
  if (!isBindingTest(node, "unique_combination_of_columns")) return [];
  const { kwargs } = objectOr(node["test_metadata"]);
  return textsOf(objectOr(kwargs)["combination_of_columns"]);
}

/** `error_if` of a test that fails if any row fails: dbt's default, and other ways to write it. */
const FAILS_AT_FIRST_ROW = /^\s*(?:(?:!=|<>|>)\s*0|>=\s*1)\s*$/;

/**
 * Whether a node is a test of this name that holds for all rows: a test that reads some rows only, only warns, or
 * tolerates failures (`error_if`) guarantees nothing.
 */
export function isBindingTest(node: JsonObject, name: string): boolean {
  const { where = null, severity, error_if, fail_calc } = objectOr(node["config"]);
  return (
    node["resource_type"] === "test" &&
    objectOr(node["test_metadata"])["name"] === name &&
    where === null &&
    textOr(severity, "error").toLowerCase() === "error" &&
    FAILS_AT_FIRST_ROW.test(textOr(error_if, "!= 0")) &&
    textOr(fail_calc, "count(*)") === "count(*)"
  );
}

/**
 * The node that a test is of. Older versions have no `attached_node`: there it is the one that the test's `model` names; a
 * `relationships` test depends on the referenced node too, in any order.
 */
export function testedModel(test: JsonObject): string {
  const attached = textOr(test["attached_node"], "");
  if (attached !== "") return attached;
  const nodes = textsOf(objectOr(test["depends_on"])["nodes"]);
  const { model } = objectOr(objectOr(test["test_metadata"])["kwargs"]);
  const name = refOf(textOr(model, ""));
  const isTested = (id: string): boolean =>
    name === null
      ? id.startsWith("source.") && /\bsource\(/.test(textOr(model, ""))
      : id.split(".")[2] === name;
  return nodes.find(isTested) ?? nodes[0] ?? "";
}
