/** The starter leaves its database as Parquet and is loaded by `ddl` on both engines: the copies answer as the original does. */
import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { exportRelations } from "../../scripts/demo/clickhouse.js";
import { ClickhouseServer } from "../../scripts/clickhouse/start-clickhouse.js";
import { routewright } from "../commands/run.js";
import { atEnd } from "../support/at-end.js";
import { hasClickhouse } from "../support/clickhouse.js";
import { databaseUrl } from "../support/database.js";
import { needs } from "../support/needs.js";
import { ownFolder, startFolder } from "../support/service.js";
import { scratchDatabase, SERVER_URL } from "./scratch-database.js";
import { manifestText } from "./starter-manifest.js";

type Json = Record<string, unknown>;
interface Node {
  readonly columns: Record<string, Json>;
  readonly config: { meta: Json };
}

const SPEND = "model.starter.api_cards_spend_by_country_monthly";

/** The starter's manifest, with rows of organizations, a private column, sums by group, and dbt metrics. */
function manifest(): object {
  const project = JSON.parse(manifestText) as { nodes: Record<string, Node> };
  const node = (name: string): Node => project.nodes[`model.starter.${name}`] as Node;
  const set = (name: string, routewright: Json): void => {
    const { config } = node(name);
    config.meta = {
      ...config.meta,
      routewright: { ...(config.meta["routewright"] as Json), ...routewright },
    };
  };
  set("api_cards_merchants", { rows: { column: "country", equals: "org" } });
  Object.assign(node("api_cards_top_merchants_last_30d").columns["merchant"] as Json, {
    meta: { pii: true },
  });
  set("api_bridges_transactions", {
    filters: ["bridge", "amount_raw"],
    aggregate: {
      group_by: ["bridge", "direction", { column: "date", grains: ["month"] }],
      measures: {
        transfers: { agg: "count" },
        amount: { agg: "sum", column: "amount" },
        largest: { agg: "max", column: "amount_raw" },
        fees: { agg: "sum", column: "fee_usd" },
        tokens: { agg: "count_distinct", column: "token" },
      },
    },
  });
  const metric = (name: string, type: string, parameters: Json): Json => ({
    [`metric.starter.${name}`]: {
      name,
      type,
      type_params: parameters,
      config: { tags: ["production", "cards", `api:${name}`, "tier0"] },
    },
  });
  return {
    ...project,
    semantic_models: {
      "semantic_model.starter.spend": {
        name: "spend",
        depends_on: { nodes: [SPEND] },
        node_relation: { alias: "api_cards_spend_by_country_monthly", schema_name: "analytics" },
        defaults: { agg_time_dimension: "month" },
        entities: [{ name: "spend", type: "primary", expr: "country" }],
        dimensions: [
          { name: "category", type: "categorical" },
          { name: "month", type: "time", type_params: { time_granularity: "month" } },
        ],
        measures: [
          { name: "payments", agg: "sum", expr: "payments" },
          { name: "payers", agg: "max", expr: "payers" },
        ],
      },
    },
    metrics: {
      ...metric("all_payments", "simple", { measure: { name: "payments" } }),
      ...metric("most_payers", "simple", { measure: { name: "payers" } }),
      ...metric("payments_less_payers", "derived", {
        expr: "all_payments - most_payers",
        metrics: [{ name: "all_payments" }, { name: "most_payers" }],
      }),
    },
  };
}

const KEYS = { all: "*", german: "DE", french: "FR" } as const;

const secretOf = (key: string): string => `sk_live_copies_${key}`;

const ENVIRONMENT = {
  API_KEYS: JSON.stringify(
    Object.fromEntries(
      Object.entries(KEYS).map(([key, org]) => [secretOf(key), { tier: "tier3", user: key, org }]),
    ),
  ),
  RATE_LIMITS: "1000000",
};

interface Endpoint {
  readonly path: string;
  readonly allowUnfiltered?: boolean;
  readonly pagination?: { readonly maxLimit?: number };
  readonly aggregate?: object;
}

/** What is asked of an endpoint: all rows, or as many as a page has, and every metric and measure by each group. */
function queriesOf({ path, allowUnfiltered, aggregate }: Endpoint): readonly string[] {
  if (path.endsWith("/transactions"))
    return [
      "start_date=2026-06-25&limit=500",
      "group_by=bridge,direction,date__month&start_date=2026-01-01",
      "measures=transfers,amount,largest,fees,tokens&start_date=2026-01-01",
    ];
  if (path.endsWith("/hourly")) return ["start_date=2026-06-29&end_date=2026-06-30"];
  if (path.endsWith("/merchants")) return ["country=DE,FR,IT", "merchant=%25a%25"];
  if (aggregate !== undefined) return ["", "group_by=metric_time__month", "group_by=spend__category"];
  return allowUnfiltered === false ? [] : [""];
}

const ENGINES = ["postgres", "clickhouse"] as const;
type Engine = (typeof ENGINES)[number];

const FORMATS = ["json", "csv", "ndjson"] as const;
const TABLES = { parquet: "application/vnd.apache.parquet", arrow: "application/vnd.apache.arrow.stream" };

/** Rows, sorted: those that a sort does not tell apart come in any order. A cursor is signed for the release that gave it. */
const linesOf = (text: string): readonly string[] =>
  text
    .replace(/"next_cursor":"[^"]+"/, "")
    .replace(/^(?:\{"items":)?\[/, "")
    .split(/(?<=\}),?\s*(?=\{)|\n/)
    .map((line) => line.replace(/\}\].*$/, "}"))
    .sort();

/** The original's row as a copy in ClickHouse has it: JSON is a text there, and its CSV has quotes around times. */
const AS_COPY: Readonly<Record<Engine, (line: string) => string>> = {
  postgres: (line) => line,
  clickhouse: (line) =>
    line
      .replace(/(?<="(?:listing|details)":)\{.*?\}/, (json) => JSON.stringify(json))
      .replace(/(?<=^|,)\d{4}-\d\d-\d\d(?:T[\d:.]+Z)?(?=,|\r|$)/g, (time) => `"${time}"`),
};

/** The values of each file, sorted, as Python has them. */
const VALUES = `import sys, decimal, pyarrow.parquet as pq, pyarrow.ipc as ipc
# A sum of decimals has a declared precision in ClickHouse alone: elsewhere it is a text of the same digits.
text = lambda value: format(value, 'f') if isinstance(value, decimal.Decimal) else value
for file in sys.argv[1:]:
    table = pq.read_table(file) if file.endswith('parquet') else ipc.open_stream(open(file, 'rb').read()).read_all()
    rows = sorted(repr(list(zip(table.column_names, map(text, row)))) for row in zip(*[c.to_pylist() for c in table.columns]))
    print(table.num_rows, repr(rows))`;

/** A generated folder and the server of it. */
interface Served {
  readonly folder: string;
  readonly url: string;
}

async function generated(engine: Engine | null): Promise<string> {
  const folder = ownFolder();
  writeFileSync(join(folder, "manifest.json"), JSON.stringify(manifest()));
  const config = { manifest: "manifest.json", ...(engine !== null && { engine }) };
  writeFileSync(join(folder, "routewright.config.json"), JSON.stringify(config));
  expect(await routewright(folder, ["generate", "--strict"])).toMatchObject({ exit: 0 });
  return folder;
}

async function served(folder: string, DATABASE_URL: string): Promise<Served> {
  const { url } = await startFolder(join(folder, "generated"), { ...ENVIRONMENT, DATABASE_URL });
  return { folder, url };
}

const endpointsOf = ({ folder }: Served): readonly Endpoint[] =>
  (
    JSON.parse(readFileSync(join(folder, "generated/catalogue.json"), "utf8")) as {
      readonly endpoints: readonly Endpoint[];
    }
  ).endpoints;

const ask = ({ url }: Served, path: string, key = "all", accept = "*/*"): Promise<Response> =>
  fetch(`${url}${path}`, { headers: { "X-API-Key": secretOf(key), accept } });

const linesAt = async (at: Served, path: string, key?: string): Promise<readonly string[]> => {
  const response = await ask(at, path, key);
  const text = await response.text();
  expect(response.status, `${path} ${text.slice(0, 200)}`).toBe(200);
  return linesOf(text);
};

/** JSON, CSV and NDJSON. */
async function differentBytes(own: Served, copy: Served, engine: Engine): Promise<readonly unknown[]> {
  const differ: unknown[] = [];
  for (const endpoint of endpointsOf(own))
    for (const query of queriesOf(endpoint))
      for (const format of FORMATS) {
        const path = `${endpoint.path}.${format}?${query}`;
        const a = (await linesAt(own, path)).map(AS_COPY[engine]).sort();
        const b = await linesAt(copy, path);
        expect(a.length, path).toBeGreaterThan(format === "csv" ? 1 : 0);
        const at = a.findIndex((line, i) => line !== b[i]);
        if (at >= 0 || a.length !== b.length) differ.push({ path, of: a.length, own: a[at], copied: b[at] });
      }
  return differ;
}

/** Parquet and Arrow. */
async function differentValues(own: Served, copy: Served): Promise<readonly unknown[]> {
  const folder = ownFolder();
  const files: { readonly name: string; readonly path: string }[] = [];
  for (const endpoint of endpointsOf(own))
    for (const query of queriesOf(endpoint))
      for (const [format, type] of Object.entries(TABLES))
        for (const at of [own, copy]) {
          const path = `${endpoint.path}?${query}`;
          const response = await ask(at, path, "all", type);
          expect([response.status, response.headers.get("content-type")], path).toEqual([200, type]);
          const name = join(folder, `${String(files.length)}.${format}`);
          writeFileSync(name, Buffer.from(await response.arrayBuffer()));
          files.push({ name, path });
        }
  const python = promisify(execFile)("python3", ["-c", VALUES, ...files.map(({ name }) => name)], {
    maxBuffer: 1e9,
  });
  const values = (await python).stdout.trim().split("\n");
  expect(values).toHaveLength(files.length);
  return values.flatMap((value, at) =>
    at % 2 === 0 && value !== values[at + 1]
      ? [[files[at], value.slice(0, 400), values[at + 1]?.slice(0, 400)]]
      : [],
  );
}

/** What a copy has of its own: types. */
const OF_COPIES: ReadonlySet<string> = new Set(["type", "sourceType", "wide"]);

const described = (at: Served): unknown =>
  JSON.parse(JSON.stringify(endpointsOf(at)), (key, value: unknown) =>
    OF_COPIES.has(key) ? undefined : value,
  );

describe.skipIf(!SERVER_URL || !hasClickhouse || !needs("pyarrow"))("the starter as a copy", () => {
  const empty = scratchDatabase("copy_of_starter", "analytics");

  it("answers as the original does: every format, metric and comment, private columns, rows of organizations", async () => {
    const clickhouse = await ClickhouseServer.start({ folder: join(ownFolder(), "server") });
    atEnd(() => clickhouse.kill());
    const own = await served(await generated(null), databaseUrl);
    await exportRelations(databaseUrl, own.folder);
    const from = ["--from", join(own.folder, "exports/{name}.parquet"), "--apply", "--database"];
    const urls = {
      postgres: [empty.url, empty.url],
      clickhouse: [clickhouse.url(), clickhouse.url("default", "api:secret")],
    } as const;
    for (const engine of ENGINES) {
      const [owner, reader] = urls[engine];
      const folder = await generated(engine);
      expect(await routewright(folder, ["ddl", ...from, owner])).toMatchObject({ exit: 0 });
      const copy = await served(folder, reader);
      expect(await differentBytes(own, copy, engine), engine).toEqual([]);
      expect(await differentValues(own, copy), engine).toEqual([]);
      expect(described(copy)).toEqual(described(own));
      expect(JSON.stringify(described(copy))).toContain('"private":true');
      for (const [key, org] of Object.entries(KEYS)) {
        const path = "/v1/cards/merchants.ndjson?merchant=%25a%25";
        const [mine, copied] = [await linesAt(own, path, key), await linesAt(copy, path, key)];
        expect(copied).toEqual(mine);
        const countries = new Set(copied.flatMap((line) => /"country":"(\w+)"/.exec(line)?.[1] ?? []));
        if (org === "*") expect(countries.size).toBeGreaterThan(2);
        else expect([...countries]).toEqual([org]);
      }
    }
  }, 600_000);
});
