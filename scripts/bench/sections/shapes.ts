import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import type { RequestRecord } from "../../../runtime/core/handler/request-record.js";
import { shapeOf } from "../../../runtime/core/handler/request-shape.js";
import type { Caller } from "../../../runtime/core/model/caller.js";
import type { RawValue, ResolvedQuery } from "../../../runtime/core/model/query.js";
import type { ServedEndpoint } from "../../../runtime/core/model/served-endpoint.js";
import { UsageCounter } from "../../../runtime/server/operations/usage.js";
import { recordedDay } from "../../../runtime/server/operations/usage-row.js";
import { UsageTable } from "../../../runtime/server/operations/usage-table.js";
import { columnsOf, manifestText, openDatabase, ROUTEWRIGHT, SCHEMA } from "../api.js";
import { type Bar, type Figures, type Findings, median, type Setting } from "../figures.js";
import { timeProgram } from "../process.js";

/** Requests of the day; `SHAPES_REQUESTS` makes it smaller. */
const REQUESTS = Number(process.env["SHAPES_REQUESTS"] ?? 1_500_000);

/** Requests between two writes: a server writes every 10 s, so this is 1,000 a second. */
const WRITTEN_AT_ONCE = 10_000;

/** More shapes than are kept of an endpoint, so that some give way. */
const ENDPOINTS = 40;
const SHAPES = 700;
const KEYS = 300;

const MOST_MICROSECONDS = 1;
const MOST_DIFF_SECONDS = 3;

/** What a recorded day of shapes costs: processor time of a request, bytes in the database, and `diff --usage` over it. */
export async function shapes({ folder: parent, keep, progress }: Setting): Promise<Findings> {
  const folder = join(parent, "shapes");
  mkdirSync(folder, { recursive: true });
  progress(`shapes: ${String(REQUESTS)} requests, counted with and without their shapes`);
  const requests = requestsOf(ENDPOINTS);
  const counted = countInTurn(requests);
  progress("shapes: the day is written");
  const database = keep(await openDatabase(folder));
  await database.query("DROP SCHEMA IF EXISTS routewright CASCADE");
  const written = await writeDay(database.url, requests);
  const kept = await keptIn(database.url);
  progress("shapes: diff --usage over the day");
  const seconds = await diffSeconds(folder, database.url);
  return {
    tables: [
      { title: `shapes: a day of ${String(REQUESTS)} requests`, rows: { counted, written, kept } },
      { title: "shapes: diff --usage, whole process", rows: { diff: { seconds } } },
    ],
    bars: [
      bar("shapes: µs of a processor for the shape of a request, to 1", counted["shapes, µs"] ?? NaN),
      bar("shapes: diff --usage, to 3 s", seconds / MOST_DIFF_SECONDS),
    ],
  };
}

const bar = (name: string, ratio: number): Bar => ({
  name,
  ratio: { median: ratio, lowest: ratio, highest: ratio },
  limit: { atMost: MOST_MICROSECONDS },
});

/** A request as the server has it when it records its shape. */
interface ShapedRequest {
  readonly endpoint: ServedEndpoint;
  readonly query: ResolvedQuery;
  readonly caller: Caller;
}

const pathOf = (endpoint: number): string => `/v1/shapes/series_${String(endpoint)}`;

/** What callers send, of which one request in turn is taken: few shapes and keys have most requests. */
function requestsOf(endpoints: number): readonly ShapedRequest[] {
  const random = generator(7);
  const few = (count: number): number => Math.floor(random() ** 3 * count);
  const parameters = [{ name: "region" }, { name: "status", values: ["paid", "open", "void"] }];
  const served = Array.from({ length: endpoints }, (_, i) => ({ spec: { path: pathOf(i), parameters } }));
  const asked = Array.from({ length: SHAPES }, (_, i) => ({ fields: fieldsOf(i), format: "json" }));
  const callers = Array.from({ length: KEYS }, (_, i) => callerOf(i));
  const one = <Each>(all: readonly Each[]): Each => all[few(all.length)] as Each;
  return Array.from({ length: 200_000 }, () => ({
    endpoint: one(served) as unknown as ServedEndpoint,
    query: one(asked) as unknown as ResolvedQuery,
    caller: one(callers),
  }));
}

/** The same numbers in each run (mulberry32). */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const COLUMNS = ["day", "region", "status", "amount", "label"] as const;

/** Parameters of one of the shapes. */
function fieldsOf(shape: number): ReadonlyMap<string, RawValue> {
  const has = (bit: number): boolean => (shape & (1 << bit)) !== 0;
  const named: readonly (readonly [string, string] | false)[] = [
    has(0) && ["limit", "100"],
    has(1) && ["region", "north"],
    has(2) && ["status", ["paid", "open", "void"][shape % 3] ?? "paid"],
    has(3) && ["sort_by", "amount"],
    has(4) && ["amount[gte]", "10"],
    has(5) && ["amount[lt]", "90"],
    shape >= 64 && ["fields", COLUMNS.filter((_, i) => ((shape >> 6) & (1 << i)) !== 0).join(",") || "day"],
  ];
  return new Map(
    named.flatMap((one) => (one === false ? [] : [[one[0], { from: "query", texts: [one[1]] }]])),
  );
}

const RECORD = {
  ...{ requestId: "bench", method: "GET", status: 200, milliseconds: 1, rows: 10, bytes: 1_000 },
  ...{ databaseMs: 1, error: null, path: null, trace: null },
  steps: { authorize: 0, resolve: 0, run: 0, respond: 0 },
} as const;

function callerOf(number: number): Caller {
  const id = String(number).padStart(12, "0");
  const key = { id, user: `user ${id}`, org: `organization ${String(number % 50)}`, tier: "tier1" } as const;
  return {
    ...{ id: `key:${id}`, tier: "tier1", org: key.org, allowed: null },
    key: { ...key, expiresAt: null, allowed: null },
  };
}

/** The day before: `diff` counts full days. */
const NOW = Date.now() - 24 * 60 * 60_000;

type Count = (counter: UsageCounter, request: ShapedRequest) => void;

const COUNTS = {
  with: (counter, { endpoint, query, caller }) => {
    const shape = shapeOf(endpoint, query, "GET", caller.tier);
    counter.count({ ...RECORD, route: endpoint.spec.path, caller, parameters: NO_NAMES, shape }, NOW);
  },
  without: (counter, { endpoint, caller }) => {
    counter.count({ ...RECORD, route: endpoint.spec.path, caller, parameters: NO_NAMES, shape: null }, NOW);
  },
} as const satisfies Record<string, Count>;

/** Names of parameters are counted with shapes and without. */
const NO_NAMES: RequestRecord["parameters"] = [];

/** Processor time of counting in µs a request, of alternating rounds of which the first two warm up. */
function countInTurn(requests: readonly ShapedRequest[]): Figures {
  const rounds = Array.from({ length: 11 }, () => ({
    with: countRound(requests, COUNTS.with),
    without: countRound(requests, COUNTS.without),
  })).slice(2);
  const [counted, bare] = [
    median(rounds.map((each) => each.with)),
    median(rounds.map((each) => each.without)),
  ];
  return {
    "with shapes, µs": counted,
    "without, µs": bare,
    "shapes, µs": median(rounds.map((each) => each.with - each.without)),
  };
}

function countRound(requests: readonly ShapedRequest[], count: Count): number {
  const counter = new UsageCounter();
  const number = Math.min(REQUESTS, requests.length);
  const before = process.cpuUsage();
  for (let i = 0; i < number; i++) {
    count(counter, requests[i] as ShapedRequest);
    if (i % WRITTEN_AT_ONCE === 0) counter.take();
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / number;
}

/** Writes the day as a server does, and how much processor time of Node that takes. */
async function writeDay(url: string, requests: readonly ShapedRequest[]): Promise<Figures> {
  const table = await UsageTable.open(url, 0);
  const counter = new UsageCounter();
  let microseconds = 0;
  const write = async (): Promise<void> => {
    const before = process.cpuUsage();
    await table.add(counter.take());
    const { user, system } = process.cpuUsage(before);
    microseconds += user + system;
  };
  for (let i = 0; i < 30; i++) counter.add(recordedDay(dayBefore(i)));
  const started = performance.now();
  for (let i = 1; i <= REQUESTS; i++) {
    COUNTS.with(counter, requests[i % requests.length] as ShapedRequest);
    if (i % WRITTEN_AT_ONCE === 0) await write();
  }
  await write();
  await table.close();
  return {
    "Node, µs per request": microseconds / REQUESTS,
    "all, seconds": (performance.now() - started) / 1000,
  };
}

function dayBefore(days: number): string {
  return new Date(NOW - days * 24 * 60 * 60_000).toISOString().slice(0, 10);
}

async function keptIn(url: string): Promise<Figures> {
  const pool = new pg.Pool({ connectionString: url, max: 1 });
  const { rows } =
    await pool.query<Figures>(`SELECT pg_total_relation_size('routewright.usage_shapes')::float8 AS bytes,
      count(*)::float8 AS rows, count(DISTINCT (route, shape))::float8 AS shapes, sum(requests)::float8 AS requests,
      sum(pg_column_size(s.*))::float8 AS "bytes of rows"
    FROM routewright.usage_shapes AS s`);
  await pool.end();
  return rows[0] ?? {};
}

/** Both revisions of all endpoints: in the second a parameter, a filter and a column have gone, and a limit is higher. */
async function diffSeconds(folder: string, url: string): Promise<number> {
  const revisions = {
    base: [COLUMNS, ["region", "status"], 100],
    head: [["day", "amount"], ["status"], 200],
  } as const;
  for (const [name, [columns, parameters, limit]] of Object.entries(revisions))
    writeFileSync(join(folder, `${name}.json`), manifestText(modelsOf(columns, parameters, limit)));
  const args = [
    ROUTEWRIGHT,
    "diff",
    "base.json",
    "head.json",
    "--usage",
    "--fail-on",
    "none",
    "--format",
    "json",
  ];
  const environment = { DATABASE_URL: url };
  const times = [];
  for (let i = 0; i < 5; i++) times.push(await timeProgram({ name: "diff", args, folder, environment }));
  return median(times);
}

function modelsOf(columns: readonly string[], parameters: readonly string[], limit: number) {
  return Array.from({ length: ENDPOINTS }, (_, i) => ({
    name: `series_${String(i)}`,
    schema: SCHEMA,
    tags: ["production", "shapes", `api:series_${String(i)}`],
    columns: columnsOf(
      Object.fromEntries(columns.map((name) => [name, name === "amount" ? "numeric" : "text"])),
    ),
    config: {
      meta: {
        api: {
          allow_unfiltered: true,
          parameters: parameters.map((name) => ({ name, column: name, operator: "=", type: "string" })),
          pagination: { enabled: true, default_limit: limit, max_limit: 1_000 },
          sortable_fields: ["amount"],
        },
        routewright: { fields: true, filters: ["amount"] },
      },
    },
  }));
}
