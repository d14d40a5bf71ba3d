/** Random requests for groups, most of them wrong: none fails, none shows a private column or a row of another organization. */
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { expect, it } from "vitest";
import { atEnd } from "../support/at-end.js";
import { serveManifest } from "../support/service.js";
import { EXPOSURE, exposureDatabase } from "./exposure-tables.js";
import { seeded } from "./random-requests.js";

/** Requests; `HOSTILE_REQUESTS=10000` for the full number. */
const REQUESTS = Number(process.env["HOSTILE_REQUESTS"] ?? 300);
const random = seeded(Number(process.env["HOSTILE_SEED"] ?? 54));

const KEY = "sk_live_acme";
const url = await serveManifest(EXPOSURE, {
  DATABASE_URL: await exposureDatabase(),
  RATE_LIMITS: "1000000",
  API_KEYS: JSON.stringify({ [KEY]: { tier: "tier0", user: "acme", org: "acme" } }),
});

const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
const some = <T>(list: readonly T[], most: number): readonly T[] =>
  Array.from({ length: Math.floor(random() * (most + 1)) }, () => pick(list));

const PATHS = [
  ...["revenue", "payers", "running", "share", "sent", "sent_by_all", "listed", "guarded_sum", "to_vips"],
  ...["births_listed", "hidden_count", "copied_count", "by_region", "saved_vips", "own_payments"],
];
/** Paths whose rows are all of the caller's organization: its numbers are below 100. */
const OWN = new Set(["revenue", "payers", "running", "share", "by_region", "own_payments"]);

const PRIVATE = ["email", "mailbox", "born_on", "phone", "org_id"];
const PREFIXES = ["", "payment__", "transfer__", "birth__", "customer__", "vip__", "copy__", "hidden__"];
const NAMES = ["metric_time", "token", "paid_on", "region", "level", "customer", "amount", ...PRIVATE];
const GRAINS = ["", "", "", "__day", "__month", "__hour", "__decade", "__year__day"];
const MEASURES = ["revenue", "payment_count", "payers", "volume", "payments", "gno", "max_email", "x"];
const OPERATORS = ["", "[ne]", "[in]", "[gte]", "[lt]", "[null]", "[contains]", "[like]", "[x]", "[]"];
const VALUES = [
  ...["GNO", "XDAI", "US", "EU", "a@acme", "c@other", "+2", "other", "1992-01-01", "2026-01-01"],
  ...["true", "", "-1", "1e999", "NaN", "2147483648", "99999999999999999999999999", "0000-00-00"],
  ...["9999-12-31", "294276-12-31", "'", '"', "\\", "\0", "\ud800", "{{ x }}", "1;--", "%", "_", "[]"],
];
const FIELDS = ["limit", "offset", "sort_by", "sort_direction", "start_date", "end_date", "fields", "cursor"];

/** Groups that some of the endpoints have. */
const VALID = [
  "metric_time",
  "metric_time__month",
  "payment__token",
  "customer__region",
  "token",
  "paid_on__day",
];

const group = (): string => (random() < 0.8 ? pick(VALID) : pick(PREFIXES) + pick(NAMES) + pick(GRAINS));
const cursors = ["x"];

/** What a request asks, as parameters. */
function parameters(): readonly (readonly [name: string, value: string])[] {
  const groups = some([group], 2).map((make) => make());
  const filters = some([group], 1).map((make) => [make() + pick(OPERATORS), pick(VALUES)] as const);
  const others = some(FIELDS, 1).map((name) => [name, fieldValue(name, groups)] as const);
  return [
    ...(groups.length > 0 ? [["group_by", groups.join(",")] as const] : []),
    ...(random() < 0.2 ? [[pick(["metrics", "measures"]), some(MEASURES, 3).join(",")] as const] : []),
    ...filters,
    ...others,
  ];
}

function fieldValue(name: string, groups: readonly string[]): string {
  if (name === "cursor") return pick(cursors);
  if (name.startsWith("sort_")) return pick([...groups, ...MEASURES, group(), "ASC", "desc"]);
  if (name === "limit" || name === "offset") return pick(["1", "2", "0", "50001", ...VALUES]);
  return pick([...VALUES, "2026-01-02"]);
}

/** A private column in what is asked. */
const isPrivate = (asked: string): boolean => PRIVATE.some((name) => asked.includes(name));

function findings(name: string, asked: string, rows: string): readonly string[] {
  const shown = ["@acme", "@other", '"+1"', '"+2"', '"US"', ",US"].filter((text) => rows.includes(text));
  const dates =
    name === "births_listed" ? [] : ["1990", "1991", "1992"].filter((year) => rows.includes(year));
  const foreign = OWN.has(name) && /[:,]\s*\d{3,}(?=[,}\n\r]|$)/.test(rows) ? ["a number over 99"] : [];
  return [...shown, ...dates, ...foreign, ...(isPrivate(asked) ? ["answered to a private column"] : [])];
}

it(
  `HTTP, ${String(REQUESTS)} requests`,
  async () => {
    const wrong: unknown[] = [];
    const statuses = new Map<number, number>();
    for (let i = 0; i < REQUESTS; i++) {
      const name = pick(PATHS);
      const asked = parameters();
      const format = pick(["", "", "", ".csv", ".ndjson", ".xlsx"]);
      const query = asked
        .map(([key, value]) => `${key}=${encodeURIComponent(value.toWellFormed())}`)
        .join("&");
      const path = `/v1/pay/${name}${format}?${query}`;
      const response = await fetch(url + path, { headers: { "X-API-Key": KEY } });
      const text = await response.text();
      const { status } = response;
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      const next = /[?&]cursor=([^&>]+)/.exec(response.headers.get("link") ?? "")?.[1];
      if (next !== undefined && cursors.length < 50) cursors.push(decodeURIComponent(next));
      const text200 =
        status === 200 ? findings(name, asked.map(([key, value]) => nameIn(key, value)).join(), text) : [];
      if (status >= 500 || text200.length > 0)
        wrong.push({ path, status, text: text.slice(0, 300), text200 });
    }
    expect(wrong.slice(0, 5)).toEqual([]);
    expect(statuses.get(200) ?? 0).toBeGreaterThan(REQUESTS / 50);
  },
  180_000 + 100 * REQUESTS,
);

/** The columns that a parameter names: its own name, or what it lists. */
function nameIn(key: string, value: string): string {
  return ["group_by", "sort_by", "metrics", "measures", "fields"].includes(key) ? value : key;
}

it(
  `MCP, ${String(Math.ceil(REQUESTS / 5))} calls`,
  async () => {
    const client = new Client({ name: "test", version: "1" });
    const requestInit = { headers: { "X-API-Key": KEY } };
    await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit }));
    atEnd(() => client.close());
    const wrong: unknown[] = [];
    let answered = 0;
    for (let i = 0; i < REQUESTS / 5; i++) {
      const name = pick(PATHS);
      const groups = some([group], 2).map((make) => make());
      const filter = group();
      const args = {
        path: `/v1/pay/${name}`,
        ...(random() < 0.7 && { group_by: groups }),
        ...(random() < 0.3 && { metrics: some(MEASURES, 2) }),
        ...(random() < 0.3 && { filters: { [filter + pick(OPERATORS)]: pick(VALUES) } }),
        ...(random() < 0.2 && { sort_by: pick([...groups, ...MEASURES, group()]) }),
        ...(random() < 0.2 && { limit: pick<unknown>([1, 2, 0, -1, 1e9, "x"]) }),
        ...(random() < 0.2 && { cursor: pick(cursors) }),
      };
      const called = client.callTool({ name: "query_metrics", arguments: args }) as Promise<CallToolResult>;
      const result = await called.catch((error: unknown) => ({ content: [], isError: true, error }));
      const [content] = result.content;
      const text = content?.type === "text" ? content.text : "";
      if (result.isError === true) {
        if (/internal|query failed/i.test(text)) wrong.push({ args, text });
        continue;
      }
      answered += 1;
      const { rows } = JSON.parse(text) as { readonly rows: unknown };
      const { group_by = [], metrics = [], sort_by = "", filters = {} } = args;
      const asked = [...group_by, ...metrics, sort_by, ...Object.keys(filters)].join();
      const found = findings(name, asked, JSON.stringify(rows));
      if (found.length > 0) wrong.push({ args, found, text: text.slice(0, 300) });
    }
    expect(wrong.slice(0, 5)).toEqual([]);
    expect(answered).toBeGreaterThan(REQUESTS / 250);
  },
  180_000 + 100 * REQUESTS,
);
