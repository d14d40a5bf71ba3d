import type { RequestOptions } from "../../support/http-client.js";
import { type Question, without } from "./tenant-requests.js";

export interface WrittenRequest {
  readonly target: string;
  readonly options: RequestOptions;
}

const JSON_BODY = { "content-type": "application/json" };
const pathOf = (endpoint: string): string => `/v1/shop/${endpoint}`;

function textOf(pairs: Readonly<Record<string, string | undefined>>): string {
  const sent = Object.entries(pairs).flatMap(([name, value]) =>
    value === undefined ? [] : `${encodeURIComponent(name)}=${encodeURIComponent(value)}`,
  );
  return sent.length === 0 ? "" : `?${sent.join("&")}`;
}

const OPTIONS = /^(?:limit|offset|sort_by|sort_direction|fields|group_by|measures|top|other|totals|compare)$/;

/** The fields that filter. */
const filtersOf = (fields: Question["fields"]): Record<string, string> =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => !OPTIONS.test(name)));

/** As a JSON body has them: operators in objects, lists as lists. */
function bodyOf(fields: Question["fields"]): object {
  const body: Record<string, unknown> = {};
  for (const [name, text] of Object.entries(fields)) {
    const [, column = name, operator] = /^(.+)\[(\w+)\]$/.exec(name) ?? [];
    const isList = operator === "in" || name === "notes" || /^(?:fields|group_by|measures)$/.test(name);
    const value = isList ? text.split(",") : /^(?:limit|offset|top)$/.test(name) ? Number(text) : text;
    if (operator === undefined) body[name] = value;
    else body[column] = { ...(body[column] as object | undefined), [operator]: value };
  }
  return body;
}

const groupsOf = ({ group_by = "" }: Question["fields"]): readonly string[] =>
  group_by.split(",").filter(Boolean);

/** Columns that values, facets and charts are asked of. */
function columnsFor({ endpoint, fields }: Question): readonly string[] {
  const groups = groupsOf(fields);
  if (groups.length > 0) return groups;
  if (endpoint === "rates" || endpoint === "premium") return ["label", "n"];
  return ["country", "note", "org_id"].slice(Object.keys(fields).length % 3);
}

const setOf = (endpoint: string): string =>
  `/odata/shop__${endpoint}${["orders", "sums", "premium"].includes(endpoint) ? "" : "()"}`;

function odataOf({ endpoint, fields, surface }: Question): string {
  const { filter, fields: select, limit, offset, sort_by, sort_direction = "asc" } = fields;
  if (surface === "key")
    return `${setOf("orders")}(${fields["limit"] ?? "3"})${select === undefined ? "" : "/note/$value"}`;
  const filtered = { ...without(filtersOf(fields), "filter"), $filter: filter };
  if (surface === "count") return `${setOf(endpoint)}/$count${textOf(filtered)}`;
  if (surface !== "apply") {
    const orderby = sort_by === undefined ? undefined : `${sort_by} ${sort_direction.toLowerCase()}`;
    return (
      setOf(endpoint) +
      textOf({ ...filtered, $select: select, $top: limit, $skip: offset, $orderby: orderby, $count: "true" })
    );
  }
  return `${setOf(endpoint)}${textOf({ $apply: applyOf(endpoint, fields), $top: limit })}`;
}

function applyOf(endpoint: string, fields: Question["fields"]): string {
  const measures = fields["measures"] ?? (["sums", "grouped"].includes(endpoint) ? "n" : endpoint);
  const groups = groupsOf(fields);
  const own = Object.entries(filtersOf(fields)).flatMap(([name, value]) => {
    const [, column = "", operator] = /^(\w+)\[(eq|ne|gt|gte|lt|lte)\]$/.exec(name) ?? [];
    const word = { gte: "ge", lte: "le" }[operator ?? ""] ?? operator;
    return word === undefined || column === endpoint
      ? []
      : [`filter(${column} ${word} ${/^-?\d+$/.test(value) ? value : `'${value}'`})`];
  });
  const filters = [...(fields["filter"] === undefined ? [] : [`filter(${fields["filter"]})`]), ...own];
  const rolled =
    fields["totals"] !== undefined && groups.length > 0
      ? `rollup($all,${groups.join(",")})`
      : groups.join(",");
  const rows = groups.length === 0 ? `aggregate(${measures})` : `groupby((${rolled}),aggregate(${measures}))`;
  return [...filters, rows].join("/");
}

function toolOf({ surface, endpoint, fields }: Question, columns: readonly string[]): object {
  const path = pathOf(endpoint);
  const { limit, offset, ...others } = fields;
  const parameters = filtersOf(others);
  const page = {
    ...(limit && { limit: Math.min(100, Number(limit)) }),
    ...(offset && { offset: Number(offset) }),
  };
  switch (surface) {
    case "query_endpoint":
      return { path, parameters: others, ...page, count: true };
    case "query_metrics": {
      const { start_date, end_date, ...filters } = parameters;
      const { measures, sort_by, sort_direction, top, other, totals, compare } = fields;
      const asked = {
        start_date,
        end_date,
        sort_by,
        sort_direction,
        compare,
        ...(top && { top: Number(top) }),
      };
      const flags = { ...(other && { other: true }), ...(totals && { totals: true }) };
      return {
        path,
        filters,
        ...asked,
        ...flags,
        ...page,
        group_by: groupsOf(fields),
        ...(measures && { measures: measures.split(",") }),
      };
    }
    case "list_values":
      return { path, column: columns[0], parameters };
    case "chart_endpoint":
      return { path, x: columns[0], y: ["amount"], by: columns.slice(1), parameters };
    case "summarize_endpoint":
      return { path, parameters };
    default:
      return { query: `${endpoint} by ${columns.join(" and ")}` };
  }
}

/** The request as its surface has it. */
export function written(question: Question): WrittenRequest {
  const { surface, endpoint, fields, headers, method, suffix, others = [] } = question;
  const columns = columnsFor(question);
  const path = pathOf(endpoint);
  switch (surface) {
    case "native":
      return { target: path + suffix + textOf(fields), options: { method, headers } };
    case "body":
    case "query": {
      const own = { ...headers, ...JSON_BODY };
      return {
        target: path,
        options: { method: surface === "body" ? "POST" : "QUERY", headers: own, body: bodyOf(fields) },
      };
    }
    case "values":
      return {
        target: `/v1/system/values${textOf({ path, column: columns[0], ...filtersOf(fields), limit: fields["limit"] })}`,
        options: {},
      };
    case "facets":
      return {
        target: `/v1/system/values${textOf({ path, columns: columns.join(","), ...filtersOf(fields) })}`,
        options: {},
      };
    case "chart": {
      const [x, ...by] = columns;
      const y = endpoint === "rates" || endpoint === "premium" ? "value" : "amount,fee";
      return {
        target: `/v1/system/chart${textOf({ path, x, y, by: by.join(","), ...filtersOf(fields) })}`,
        options: {},
      };
    }
    case "odata":
    case "apply":
    case "count":
    case "key":
      return { target: odataOf(question), options: { headers: withoutForms(headers) } };
    case "batch": {
      const requests = [{ ...question, surface: "odata" as const }, ...others].map((each, i) => ({
        ...{ id: String(i), method: "GET", url: odataOf(each) },
      }));
      return {
        target: "/odata/$batch",
        options: {
          method: "POST",
          headers: { ...JSON_BODY, prefer: "continue-on-error" },
          body: { requests },
        },
      };
    }
    case "document":
      return { target: endpoint, options: { headers: withoutForms(headers) } };
    default: {
      const own = { ...JSON_BODY, accept: "application/json, text/event-stream" };
      const params = { name: surface, arguments: toolOf(question, columns) };
      return {
        target: "/mcp",
        options: {
          method: "POST",
          headers: own,
          body: { jsonrpc: "2.0", id: 1, method: "tools/call", params },
        },
      };
    }
  }
}

/** What a form of rows is asked by and the surface does not have. Parts of a body with addresses differ by their ports. */
function withoutForms(headers: Question["headers"]): Question["headers"] {
  const isJson = headers["accept"]?.startsWith("application/json") === true;
  return without(headers, "range", ...(isJson ? [] : ["accept"]));
}
