import { type JsonObject, textOr } from "./json.js";

/** A part of a relation's name as SQL has it: in quotes, in which one is doubled, or bare. */
const PART = /"((?:[^"]|"")*)"|`((?:[^`]|``)*)`|([^."`]+)/g;

/** Adapters of databases that fold a bare name to lower case: the ASCII letters of a name in UTF-8. */
const FOLDS_TO_LOWER: ReadonlySet<string> = new Set(["postgres", "redshift"]);

/**
 * Schema and name of a node's relation in the database. With dbt's `quoting` off for a part, `relation_name` has it bare, and the
 * database folds it; the node's own `schema` and `alias` are as the project writes them.
 */
export function relationOf(node: JsonObject, adapter: string): readonly [schema: string, name: string] {
  const schema = textOr(node["schema"], "");
  const name = textOr(node["identifier"], "") || textOr(node["alias"], "") || textOr(node["name"], "");
  if (!FOLDS_TO_LOWER.has(adapter)) return [schema, name];
  const parts = [...textOr(node["relation_name"], "").matchAll(PART)].slice(-2);
  const folded = (text: string, bare: string | undefined): string =>
    bare === text ? text.replace(/[A-Z]/g, (letter) => letter.toLowerCase()) : text;
  return [folded(schema, parts.at(-2)?.[3]), folded(name, parts.at(-1)?.[3])];
}
