import { type Json, type JsonRecord, TIERS } from "@routewright/runtime/model";
import type { CatalogueEntry } from "../../catalogue/catalogue.js";
import type { DataType } from "../../catalogue/types/data-type.js";
import { dataTypeOf } from "../../catalogue/types/read-type.js";

/** Examples of the parameters of system endpoints, by operation and name. */
export type SystemExamples = Readonly<Record<string, Readonly<Record<string, Json | undefined>>>>;

/**
 * Endpoints in examples are those that every caller may read without a filter, since every caller reads the document. Where there is
 * none, parameters that name one have no example.
 */
export function systemExamples(entries: readonly CatalogueEntry[]): SystemExamples {
  const open = entries.filter(isOpen).map(namesByKind);
  const path = open[0]?.path;
  return {
    system_openapi: { tier: TIERS[0] },
    system_events: { path },
    system_events_feed: { path },
    system_unsubscribe: { id: "3f2b8c1e-9d4a-4c6b-8f1e-2a7d5b9c0e41" },
    system_values: valuesExamples(open),
    system_chart: chartExamples(open),
  };
}

function isOpen({
  tier,
  rows,
  allowUnfiltered,
  requireAnyOf,
  aggregate,
  goneAt,
  ...rest
}: CatalogueEntry): boolean {
  const isPublic = tier === TIERS[0] && rows === undefined && goneAt === undefined && !rest.private;
  return isPublic && allowUnfiltered && requireAnyOf.length === 0 && aggregate?.rows !== false;
}

/** Columns of an endpoint that are not private. */
interface NamesByKind {
  readonly path: string;
  readonly texts: readonly string[];
  readonly times: readonly string[];
  readonly numbers: readonly string[];
}

function namesByKind({ path, columns }: CatalogueEntry): NamesByKind {
  const namesOf = (...kinds: readonly DataType["kind"][]): readonly string[] =>
    columns
      .filter((column) => !column.private && kinds.includes(dataTypeOf(column.baseType ?? column.type).kind))
      .map(({ name }) => name);
  return {
    path,
    texts: namesOf("text", "enum"),
    times: namesOf("date", "timestamp"),
    numbers: namesOf("integer", "decimal", "float"),
  };
}

function valuesExamples(open: readonly NamesByKind[]): SystemExamples[string] {
  const { path, texts = [] } = open.find((each) => each.texts.length > 0) ?? {};
  const columns = texts.length === 0 ? undefined : texts.slice(0, 2).join(",");
  return { path, column: texts[0], columns, prefix: "a", limit: 10 };
}

function chartExamples(open: readonly NamesByKind[]): SystemExamples[string] {
  const drawn = open.filter(({ times, numbers }) => times.length > 0 && numbers.length > 0);
  const { path, times, numbers, texts } = drawn.find((each) => each.texts.length > 0) ?? drawn[0] ?? {};
  return { path, x: times?.[0], y: numbers?.[0], by: texts?.[0], grain: "month" };
}

/** Parameters of a system endpoint, with their examples. */
export function withExamples(
  parameters: readonly JsonRecord[],
  examples: SystemExamples[string] = {},
): readonly JsonRecord[] {
  return parameters.map((parameter) => {
    const { name } = parameter as { readonly name: string };
    const example = examples[name];
    return example === undefined ? parameter : { ...parameter, example };
  });
}
