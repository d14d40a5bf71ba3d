import type { CatalogueEndpoint } from "../../pages/catalogue-body.js";
import { linesOf } from "../../core/response/read-rows.js";
import type { QueryReply } from "./query.js";
import { type Arguments, DEFAULT_ROWS, MAX_CHARACTERS, MAX_ROWS, type Value } from "./tools.js";

/** The page, whether it stands in the tool's arguments or among the endpoint's parameters; a text: why there is none. */
export function pageOf({ pagination }: CatalogueEndpoint, args: Arguments) {
  const { limit: inner, offset: innerOffset, ...parameters } = args.parameters ?? {};
  const wholeOf = (
    name: string,
    outer: number | undefined,
    given: Value | readonly Value[] | undefined,
    standard: number,
  ) => {
    if (given === undefined) return outer ?? standard;
    if (outer !== undefined) return `Give ${name} once: as an argument, or among the parameters.`;
    return typeof given !== "object" && /^\d{1,9}$/.test(String(given))
      ? Number(given)
      : `${name} must be a whole number.`;
  };
  const limit = wholeOf("limit", args.limit, inner, DEFAULT_ROWS);
  const offset = wholeOf("offset", args.offset, innerOffset, 0);
  if (typeof limit === "string") return limit;
  if (typeof offset === "string") return offset;
  if (limit < 1 || limit > MAX_ROWS) return `limit must be between 1 and ${String(MAX_ROWS)}.`;
  if (args.cursor !== undefined && parameters["cursor"] !== undefined)
    return "Give cursor once: as an argument, or among the parameters.";
  if (pagination === null && offset > 0) return "This endpoint has no pages: leave offset out.";
  return { limit: Math.min(limit, pagination?.max_limit ?? limit), offset, parameters };
}

/** An unknown name is most often a guess: says which there are. */
export function failureText({ status, body }: QueryReply, endpoint: CatalogueEndpoint): string {
  const text = `HTTP ${String(status)}: ${body}`;
  if (!text.includes("Unsupported query parameters")) return text;
  const { parameters, filters = [], pagination, sortable_fields } = endpoint;
  const names = [
    ...(parameters ?? []).map(({ name }) => name),
    ...filters.map(({ column, operators }) => `${column}[${operators.join("|")}]`),
    ...(pagination === null ? [] : ["limit", "offset"]),
    ...(endpoint.cursor === undefined ? [] : ["cursor"]),
    ...(sortable_fields.length === 0 ? [] : ["sort_by", "sort_direction"]),
  ];
  return `${text} The endpoint takes: ${names.join(", ") || "no parameters"}.`;
}

/** As many rows as a model should get. */
export function fittingLines(body: string, limit: number): readonly string[] {
  return fittingTexts(linesOf(body).slice(0, limit));
}

/** The first of them, as many as a model should get. */
export function fittingTexts(texts: readonly string[]): readonly string[] {
  let characters = 0;
  const end = texts.findIndex((text) => (characters += text.length) > MAX_CHARACTERS);
  return end < 0 ? texts : texts.slice(0, end);
}
