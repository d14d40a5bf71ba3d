import type { Schema } from "@routewright/runtime/model";
import type { GraphNode } from "./graph.js";
import { type JsonObject, objectOr, textOr } from "./json.js";
import type { Manifest } from "./manifest.js";
import { fileOf, type Model } from "./model.js";
import { HINT } from "./schema-errors.js";

const METHODS = ["path", "tag", "group", "access", "exposure"] as const;
const CRITERION = `(?:${METHODS.join("|")}):[^\\s,]+`;

/** A text with these keywords, or a list of such texts. */
export function oneOrMore(keywords: Readonly<Record<string, unknown>>): Schema<string | readonly string[]> {
  return { ...keywords, type: ["string", "array"], items: { ...keywords, type: "string" }, minItems: 1 };
}

/** dbt's selection of nodes, as far as it tells models by what they are. */
export const SELECTION = oneOrMore({
  pattern: `^${CRITERION}(?:[ ,]${CRITERION})*$`,
  [HINT]:
    "Write dbt's selection: `path:models/marts`, `tag:`, `group:`, `access:` or `exposure:`; a comma between two means both, a space either.",
});

export const criteriaIn = (selection: string | readonly string[]): readonly string[] =>
  [selection].flat().flatMap((text) => text.split(" "));

/** Whether a selection has a model. */
export function isSelected(
  selection: string | readonly string[],
  model: Model,
  node: GraphNode,
  manifest: Manifest,
): boolean {
  return criteriaIn(selection).some((criteria) =>
    criteria.split(",").every((one) => isNamedBy(one, model, node, manifest)),
  );
}

/** dbt's `access`, `protected` by default. */
export const accessOf = (json: JsonObject): string =>
  textOr(json["access"], textOr(objectOr(json["config"])["access"], "protected"));

/** One criterion of dbt's selection; `*` stands for any text. */
function isNamedBy(criterion: string, model: Model, { json }: GraphNode, manifest: Manifest): boolean {
  const at = criterion.indexOf(":");
  const [method, value] = [criterion.slice(0, at) as (typeof METHODS)[number], criterion.slice(at + 1)];
  const isLike = (text: string): boolean =>
    new RegExp(`^${value.split("*").map(escaped).join(".*")}$`, "s").test(text);
  switch (method) {
    case "path":
      return isOfProject(json, manifest) && isUnder(fileOf(json), value);
    case "tag":
      return model.tags.some(isLike);
    case "group":
      return isLike(textOr(json["group"], textOr(objectOr(json["config"])["group"], "")));
    case "access":
      return accessOf(json) === value;
    case "exposure":
      return [...manifest.exposures].some(([name, nodes]) => isLike(name) && nodes.includes(model.uniqueId));
  }
}

/** Packages have folders of the same names. */
function isOfProject(json: JsonObject, { project }: Manifest): boolean {
  const owner = textOr(json["package_name"], "");
  return owner === "" || project === null || owner === project;
}

function isUnder(file: string, value: string): boolean {
  const folder = value.replace(/^\.\//, "").replace(/\/+$/, "");
  return new RegExp(`^${folder.split("*").map(escaped).join("[^/]*")}(?:/|$)`).test(file);
}

/** A text in a regular expression. */
export const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\-]/g, "\\$&");
