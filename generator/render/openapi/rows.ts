import type { Column } from "@routewright/runtime/model";
import type { CatalogueEntry } from "../../catalogue/catalogue.js";
import { jsonSchemaOf, parseColumnType } from "../../catalogue/column-types/column-type.js";
import { type Json, type JsonMap, type JsonRecord, shared } from "./json-text.js";
import { rowNameOf } from "./names.js";
import { PAGE_HEADERS, ref, responseIn, ROWS_HEADERS } from "./responses.js";

/** Fields of an envelope's `pagination` (runtime/README.md, Responses). */
export const PAGINATION_SCHEMA: JsonRecord = {
  type: "object",
  description: "Which page of the rows this is.",
  properties: {
    limit: { type: "integer", description: "Most rows that the page may hold." },
    offset: { type: "integer", description: "Rows skipped before the page." },
    returned: { type: "integer", description: "Rows on the page." },
    has_more: { type: "boolean", description: "Whether rows follow after the page." },
  },
  required: ["limit", "offset", "returned", "has_more"],
};

/**
 * Schema of an endpoint's row: a property per column, in the model's order. A row carries every column of the
 * relation, so all are required and there may be more than the model lists.
 */
export function rowSchema({ endpoint, documentation }: CatalogueEntry): JsonMap {
  const names = endpoint.columns.map(({ name }) => name);
  const properties = endpoint.columns.map(
    (column) => [column.name, columnSchema(column, documentation.columns.get(column.name) ?? "")] as const,
  );
  return new Map<string, Json>([
    ["type", "object"],
    ["description", `A row of \`${endpoint.path}\`.`],
    ["properties", new Map(properties)],
    ["required", names],
    ["additionalProperties", true],
  ]);
}

function columnSchema({ type }: Column, description: string): JsonRecord {
  const schema = jsonSchemaOf(parseColumnType(type ?? undefined)) as JsonRecord;
  return { ...schema, ...(description !== "" && { description }) };
}

/** The 200 response: an array of rows, or a page in an envelope. */
export function rowsResponse({ endpoint }: CatalogueEntry): JsonRecord {
  const rows = { type: "array", items: ref("schemas", rowNameOf(endpoint.path)) };
  const isEnvelope = endpoint.pagination?.response === "envelope";
  const description = isEnvelope ? "A page of rows." : "The rows.";
  const content = { "application/json": { schema: isEnvelope ? envelope(rows) : rows }, ...OTHER_FORMATS };
  return responseIn(description, content, endpoint.pagination === null ? ROWS_HEADERS : PAGE_HEADERS);
}

/** The other formats that `Accept` selects. */
const OTHER_FORMATS = {
  "text/csv": shared({ schema: ref("schemas", "CsvRows") }),
  "application/x-ndjson": shared({ schema: ref("schemas", "NdjsonRows") }),
};

/** The rows in the other formats, which have no room for an envelope. */
export const FORMAT_SCHEMAS: Readonly<Record<string, JsonRecord>> = {
  CsvRows: { type: "string", description: "The rows as CSV (RFC 4180), with a header record." },
  NdjsonRows: { type: "string", description: "The rows as JSON objects, one on each line." },
};

function envelope(rows: JsonRecord): JsonRecord {
  return {
    type: "object",
    properties: { items: rows, pagination: ref("schemas", "Pagination") },
    required: ["items", "pagination"],
  };
}
