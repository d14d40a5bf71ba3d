import { isObject, type JsonObject, listOr, objectsOf, textOr, textsOf } from "./json.js";
import { firstOfEachName, type ModelColumn, NO_GUARANTEES } from "./model-columns.js";
import { byText, visibleJson } from "./strings.js";

const MARKER = "Routewright. Do not edit: run `routewright columns pull`.";

/** A column of a relation, as the database has it. */
export interface PulledColumn {
  readonly name: string;
  readonly type: string;
  readonly notNull: boolean;
  readonly comment: string | null;
  /** Of an enumeration of PostgreSQL, or of an array of it. */
  readonly labels?: readonly string[] | null;
  /** Of a domain. */
  readonly baseType?: string | null;
}

/** `columns.json`: the columns of relations by the `unique_id` of their models, a line per column, in the relation's order. */
export function columnsText(relations: ReadonlyMap<string, readonly PulledColumn[]>): string {
  const lines = [...relations]
    .sort(([a], [b]) => byText(a, b))
    .map(([id, columns]) => `    ${visibleJson(id)}: [\n${columns.map(lineOf).join(",\n")}\n    ]`);
  const body = lines.length === 0 ? "{}" : `{\n${lines.join(",\n")}\n  }`;
  return `{\n  "x-generated-by": ${visibleJson(MARKER)},\n  "schemaVersion": 1,\n  "columns": ${body}\n}\n`;
}

function lineOf({ name, type, notNull, comment, labels, baseType }: PulledColumn): string {
  const own = { ...(labels && { labels }), ...(baseType && { baseType }) };
  return `      ${visibleJson({ name, type, ...own, ...(notNull && { notNull }), ...(comment && { comment }) })}`;
}

/** The columns of a `columns.json`; null for another document. */
export function columnsInFile(json: JsonObject): ReadonlyMap<string, readonly ModelColumn[]> | null {
  const { schemaVersion, columns } = json;
  if (schemaVersion !== 1 || json["x-generated-by"] !== MARKER || !isObject(columns)) return null;
  return new Map(
    Object.entries(columns).map(([id, list]) => [id, firstOfEachName(objectsOf(listOr(list)).map(columnOf))]),
  );
}

function columnOf({ name, type, notNull, comment, labels, baseType }: JsonObject): ModelColumn {
  return {
    name: textOr(name, ""),
    type: textOr(type, "").trim() || null,
    ...(Array.isArray(labels) && { labels: textsOf(labels) }),
    ...(typeof baseType === "string" && { baseType }),
    isServedType: true,
    notNull: notNull === true ? "constraint" : null,
    acceptedValues: null,
    guarantees: NO_GUARANTEES,
    isPrivate: false,
    routewright: {},
    description: textOr(comment, ""),
  };
}
