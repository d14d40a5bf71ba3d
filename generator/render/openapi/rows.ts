import {
  groupedBy,
  type Json,
  type JsonMap,
  type JsonRecord,
  ref,
  responseObject,
  TIERS,
} from "@routewright/runtime/model";
import type { CatalogueEntry, DescribedColumn } from "../../catalogue/catalogue.js";
import { type DataType, isInteger } from "../../catalogue/types/data-type.js";
import { exampleOf } from "../../catalogue/types/example.js";
import { jsonSchemaOf } from "../../catalogue/types/json-schema.js";
import { dataTypeOf, typeInResponse, withAcceptedValues } from "../../catalogue/types/read-type.js";
import { rowNameOf } from "./names.js";
import { paragraphs } from "./markdown.js";
import { DEPRECATED_HEADERS, FRESHNESS_HEADERS, headersOf, PAGE_HEADERS, ROWS_HEADERS } from "./responses.js";
import { optionColumns } from "./group-fields.js";

/** Fields of an envelope's `pagination` (runtime/docs/responses.md). */
export const PAGINATION_SCHEMA: JsonRecord = {
  type: "object",
  description: "The position of the page.",
  properties: {
    limit: { type: "integer", description: "Maximum number of rows on the page.", examples: [100] },
    offset: { type: "integer", description: "Rows skipped before the page.", examples: [0] },
    returned: { type: "integer", description: "Rows on the page.", examples: [100] },
    has_more: { type: "boolean", description: "Whether more rows follow.", examples: [true] },
  },
  required: ["limit", "offset", "returned", "has_more"],
};

/** The same for pages that follow each other by cursor. */
export const CURSOR_PAGINATION_SCHEMA: JsonRecord = {
  ...PAGINATION_SCHEMA,
  properties: {
    ...(PAGINATION_SCHEMA["properties"] as JsonRecord),
    offset: {
      type: ["integer", "null"],
      description: "Rows skipped before the page; null on a page by `cursor`.",
      examples: [0],
    },
    next_cursor: {
      type: ["string", "null"],
      description: "`cursor` of the next page; null on the last one.",
    },
  },
  required: ["limit", "offset", "returned", "has_more", "next_cursor"],
};

/** The endpoints of each model, in their order. */
type EntriesByModel = ReadonlyMap<string, readonly CatalogueEntry[]>;

export function entriesByModel(entries: readonly CatalogueEntry[]): EntriesByModel {
  return groupedBy(entries, ({ model }) => model);
}

/**
 * Schema of an endpoint's row: one property per column, in the model's order. A row has every column of the relation: all
 * are required, and there may be more than the model declares.
 */
export function rowSchema(endpoint: CatalogueEntry, byModel: EntriesByModel): JsonMap {
  const columns = rowColumns(endpoint);
  const names = columns.map(({ name }) => name);
  const properties = columns.map((column) => [column.name, columnSchema(endpoint, column, byModel)] as const);
  return new Map<string, Json>([
    ["type", "object"],
    ["description", `A row of \`${endpoint.path}\`.`],
    ["properties", new Map(properties)],
    ["required", endpoint.fields || endpoint.aggregate ? [] : names],
    ["additionalProperties", true],
  ]);
}

/** The columns of a row, and what groups may have in their place. */
export function rowColumns(endpoint: CatalogueEntry): readonly DescribedColumn[] {
  const { columns, aggregate } = endpoint;
  const own = aggregate?.rows === false ? [] : columns;
  const grouped = [...(aggregate?.columns ?? []), ...optionColumns(endpoint)].filter(
    ({ name }) => !own.some((column) => column.name === name),
  );
  return [...own, ...grouped];
}

function columnSchema(
  endpoint: CatalogueEntry,
  column: DescribedColumn,
  byModel: EntriesByModel,
): JsonRecord {
  const { type, acceptedValues, description = "", example } = column;
  const stored = withAcceptedValues(dataTypeOf(type), acceptedValues);
  const columnType = typeInResponse(stored, column, endpoint);
  const text = paragraphs(description, guaranteesText(column, endpoint, byModel));
  return {
    ...(jsonSchemaOf(columnType) as JsonRecord),
    ...(columnType !== stored && { pattern: "^-?\\d+(\\.\\d+)?$" }),
    ...numbersOf(columnType, acceptedValues ?? []),
    ...rangeOf(columnType, column),
    ...(text.trim() !== "" && { description: text }),
    examples: [shownAs(columnType, stored, example ?? exampleOf(stored, column))],
  };
}

/** Wide numbers that are served as strings. */
function shownAs(served: DataType, stored: DataType, example: Json): Json {
  return served !== stored && typeof example === "number" ? String(example) : example;
}

/** The bounds of numbers that tests prove. */
function rangeOf({ kind }: DataType, { minimum, maximum, exclusive }: DescribedColumn): JsonRecord {
  if (kind !== "integer" && kind !== "decimal" && kind !== "float") return {};
  return {
    ...(minimum !== undefined && { [exclusive ? "exclusiveMinimum" : "minimum"]: minimum }),
    ...(maximum !== undefined && { [exclusive ? "exclusiveMaximum" : "maximum"]: maximum }),
  };
}

/**
 * What JSON Schema has no keyword for. Of another model only its endpoint is named, where whoever may call this one may
 * call it: names of models are not public.
 */
function guaranteesText(
  { unique, references }: DescribedColumn,
  { tier }: CatalogueEntry,
  byModel: EntriesByModel,
): string {
  const [, model = "", name = ""] = /^(.*)\.([^.]*)$/s.exec(references ?? "") ?? [];
  const target = byModel
    .get(model)
    ?.find(
      (entry) =>
        TIERS.indexOf(entry.tier) <= TIERS.indexOf(tier) &&
        entry.columns.some((column) => column.name === name),
    );
  return [
    ...(unique ? ["No two rows have the same value."] : []),
    ...(target === undefined ? [] : [`Each value is in \`${name}\` of \`${target.path}\`.`]),
  ].join(" ");
}

/** The accepted values of an integer column, as numbers. */
function numbersOf(type: DataType, acceptedValues: readonly string[]): JsonRecord {
  const values = isInteger(type) ? acceptedValues.map(Number).filter(Number.isSafeInteger) : [];
  if (values.length === 0 || values.length !== acceptedValues.length) return {};
  return { enum: type.nullable ? [...values, null] : values };
}

/** The 200 response: an array of rows, or a page in an envelope. `deprecationDate`: of the path. */
export function rowsResponse(
  endpoint: CatalogueEntry,
  { deprecationDate }: Pick<CatalogueEntry, "deprecationDate">,
): JsonRecord {
  const rows = { type: "array", items: ref("schemas", rowNameOf(endpoint.path)) };
  const isEnvelope = endpoint.pagination?.response === "envelope";
  const description = `${isEnvelope ? "A page of rows." : "The rows."} ${OTHER_FORMATS}`;
  const schema = isEnvelope
    ? envelope(rows, endpoint.cursor === undefined ? "Pagination" : "CursorPagination")
    : rows;
  const headers = [
    ...(endpoint.pagination === null ? ROWS_HEADERS : PAGE_HEADERS),
    ...(endpoint.freshness === undefined ? [] : FRESHNESS_HEADERS),
    ...(deprecationDate === null ? [] : DEPRECATED_HEADERS),
  ];
  return responseObject(description, "application/json", { schema }, headersOf(headers));
}

/** Described in words: with several media types, generated clients would return `Row[] | string`. */
const OTHER_FORMATS =
  "CSV (RFC 4180, with a header record) with `Accept: text/csv` or the suffix `.csv`, one JSON object per line with `application/x-ndjson` or `.ndjson`, Parquet with `application/vnd.apache.parquet` or `.parquet`, Arrow with `application/vnd.apache.arrow.file` or `.arrow`; all without an envelope.";

function envelope(rows: JsonRecord, pagination: "Pagination" | "CursorPagination"): JsonRecord {
  return {
    type: "object",
    properties: { items: rows, pagination: ref("schemas", pagination) },
    required: ["items", "pagination"],
  };
}
