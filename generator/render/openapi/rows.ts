import type { Column } from "@routewright/runtime/model";
import type { CatalogueEntry } from "../../catalogue/catalogue.js";
import { jsonSchemaOf, parseColumnType } from "../../catalogue/column-types/column-type.js";
import type { Json, JsonMap, JsonRecord } from "./json-text.js";
import { rowNameOf } from "./names.js";
import { PAGE_HEADERS, ref, response, ROWS_HEADERS } from "./responses.js";

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
  const description = `${isEnvelope ? "A page of rows." : "The rows."} ${OTHER_FORMATS}`;
  const schema = isEnvelope ? envelope(rows) : rows;
  return response(
    description,
    "application/json",
    { schema },
    endpoint.pagination === null ? ROWS_HEADERS : PAGE_HEADERS,
  );
}

/** In words: with several media types, the types of a generated client would be `Row[] | string`. */
const OTHER_FORMATS =
  "As CSV (RFC 4180, with a header record) with `Accept: text/csv` or the suffix `.csv`, as one JSON object on each line with `application/x-ndjson` or `.ndjson`, both without an envelope.";

function envelope(rows: JsonRecord): JsonRecord {
  return {
    type: "object",
    properties: { items: rows, pagination: ref("schemas", "Pagination") },
    required: ["items", "pagination"],
  };
}
