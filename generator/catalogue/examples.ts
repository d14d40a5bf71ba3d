import type { Manifest } from "../manifest/manifest.js";
import type { Model } from "../manifest/model.js";
import type { ModelColumn } from "../manifest/columns.js";
import type { CatalogueEntry, Example, Problem } from "./catalogue.js";
import { asString, jsonSchemaOf, parseColumnType, withAcceptedValues } from "./column-types/column-type.js";

/** Longest example, in characters of JSON. */
const MAX_LENGTH = 1000;

/**
 * Adds the examples of columns (`meta.routewright.example`; generator/docs/meta-routewright.md, Examples). A private column, its own
 * or inherited, gets none: the author may have copied a row.
 */
export function withExamples(entries: readonly CatalogueEntry[], { models }: Manifest) {
  const warnings: Problem[] = [];
  const byId = new Map(models.map((model) => [model.uniqueId, model]));
  const documented = entries.map((entry) => {
    const model = byId.get(entry.uniqueId);
    const given = model?.columns.filter(({ example }) => example !== undefined) ?? [];
    if (model === undefined || given.length === 0) return entry;
    const examples = new Map<string, Example>();
    for (const column of given) {
      const problem = exampleProblem(column, entry);
      if (problem === null) examples.set(column.name, column.example as Example);
      else warnings.push(warning(model, column, problem));
    }
    return { ...entry, documentation: { ...entry.documentation, examples } };
  });
  return { entries: documented, warnings };
}

function warning({ uniqueId }: Model, { name }: ModelColumn, message: string): Problem {
  const path = `$.columns.${name}.meta.routewright.example`;
  return {
    model: uniqueId,
    path,
    message,
    hint: "Write a value as in a response, or remove the example.",
  };
}

function exampleProblem(column: ModelColumn, { endpoint, facts }: CatalogueEntry): string | null {
  const { name, example } = column;
  if (facts.isPrivate || facts.columns.get(name)?.isPrivate)
    return "The column is private: its example is not published.";
  if (!isExample(example))
    return "The example is longer than 1,000 characters, or holds a number that JSON readers would round.";
  const declared = endpoint.columns.find((each) => each.name === name)?.type ?? undefined;
  const stored = withAcceptedValues(parseColumnType(declared), column.acceptedValues);
  const { type, enum: values } = jsonSchemaOf(
    endpoint.numbers === "string" ? asString(stored) : stored,
  ) as Schema;
  if (type !== undefined && ![type].flat().some((each) => isOf(each, example)))
    return `The example is no ${[type].flat().join(" or ")}, as the column's values are.`;
  return values === undefined || values.includes(example)
    ? null
    : "The example is not one of the accepted values.";
}

interface Schema {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
}

function isExample(value: unknown): value is Example {
  return isJson(value) && JSON.stringify(value).length <= MAX_LENGTH;
}

/** Integers beyond 2^53 were rounded when the manifest was parsed. */
function isJson(value: unknown): boolean {
  if (typeof value === "object" && value !== null) return Object.values(value).every(isJson);
  if (typeof value === "number") return Math.abs(value) <= Number.MAX_SAFE_INTEGER;
  return value === null || typeof value === "string" || typeof value === "boolean";
}

function isOf(type: string, example: Example): boolean {
  switch (type) {
    case "null":
      return example === null;
    case "array":
      return Array.isArray(example);
    case "integer":
      return Number.isInteger(example);
    default:
      return typeof example === type;
  }
}
