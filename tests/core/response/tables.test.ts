import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { serve } from "../../support/command.js";
import { byEngine, engine, engineUrl, ownTables, readers } from "../../support/engines.js";
import { manifestOf } from "../../support/manifest.js";
import { programPath } from "../../support/needs.js";
import { mostMemory } from "../../support/processes.js";
import { KEYS, ownFolder, serveManifest, ownInstallation } from "../../support/service.js";
import { begin, refusal, sendRequest, statusAndBody } from "../../support/http-client.js";
import { TABLE_COLUMNS, tableOfValues } from "./table-values.js";

const run = promisify(execFile);
const key = KEYS.tier3;

/** Above a server that has loaded the library. */
const MILLION_MEGABYTES = 128;

/** More rows than a row group has, and more bytes than a buffered result. */
const MANY = byEngine({ postgres: 30_000, clickhouse: 150_000 });

/** A text that no format makes shorter than a buffered result needs. */
const DIGITS = "md5(i::text) || md5((-i)::text) || md5((i / 2.0)::text)";

const many = byEngine({
  postgres: `SELECT i AS id, CASE WHEN i % 3 > 0 THEN 'label ' || ${DIGITS} END AS label, (i * 1.25)::numeric(20,4) AS amount
    FROM generate_series(1, ${String(MANY)}) i`,
  clickhouse: `SELECT toInt32(number + 1) AS id, if(id % 3 > 0, concat('label ', toString(id)), NULL) AS label,
    toDecimal128(id * 1.25, 4) AS amount FROM numbers(${String(MANY)})`,
});
const schema = await ownTables({
  postgres: `${tableOfValues(2000).join(";")};
    CREATE TABLE @.few AS SELECT * FROM @.special WHERE id <= 100;
    CREATE TABLE @.one AS SELECT * FROM @.special WHERE id = 1;
    CREATE TABLE @.empty AS SELECT * FROM @.special WHERE false;
    CREATE TABLE @.many AS ${many};
    CREATE VIEW @.pages AS SELECT * FROM @.many;
    CREATE TABLE @.million AS SELECT i AS id, i::bigint * 1000000007 AS wide, i * 0.5::float8 AS ratio,
      (i * 1.25)::numeric(20,4) AS amount, timestamptz '2025-01-01 00:00Z' + i * interval '1 second' AS at,
      'label ' || i AS label FROM generate_series(0, 999999) i;
    CREATE VIEW @.late AS SELECT i AS id, ${DIGITS} AS label, 1 / (i - 40000) AS v FROM generate_series(0, 49999) i;
    CREATE VIEW @.endless AS SELECT a.id AS i, md5(b.id::text) AS filling FROM @.many a, @.many b`,
  clickhouse: [
    ...tableOfValues(2000),
    "CREATE TABLE @.few ORDER BY id AS SELECT * FROM @.special WHERE id <= 100",
    "CREATE TABLE @.one ORDER BY id AS SELECT * FROM @.special WHERE id = 1",
    "CREATE TABLE @.empty ORDER BY id AS SELECT * FROM @.special WHERE false",
    `CREATE TABLE @.many ORDER BY id AS ${many}`,
    "CREATE VIEW @.pages AS SELECT * FROM @.many",
    `CREATE TABLE @.million ORDER BY id AS SELECT toInt32(number) AS id, number * 1000000007 AS wide, number * 0.5 AS ratio,
      toDecimal128(number * 1.25, 4) AS amount, toDateTime64('2025-01-01 00:00:00', 6, 'UTC') + number AS at,
      concat('label ', toString(number)) AS label FROM numbers(1000000)`,
    `CREATE VIEW @.late AS SELECT number AS id, toString(number) AS label, toInt32(throwIf(number = 990000)) AS v
      FROM numbers(1000000) SETTINGS max_block_size = 1000`,
    "CREATE VIEW @.endless AS SELECT number AS i, lower(hex(MD5(toString(number)))) AS filling FROM numbers(1000000000)",
  ],
});

const sorted = { allow_unfiltered: true, sort: [{ column: "id", direction: "ASC" }] };
const paged = {
  ...sorted,
  methods: ["GET", "POST"],
  pagination: { enabled: true, default_limit: 2, max_limit: 50_000, response: "envelope" },
};
const model = (name: string, api?: unknown, columns: readonly string[] = []) => ({
  name,
  schema,
  tags: ["production", "tables", `api:${name}`],
  columns: Object.fromEntries(columns.map((column) => [column, null])),
  ...(api !== undefined && { api }),
});
const manifest = manifestOf([
  ...["special", "few", "one", "empty"].map((name) =>
    model(name, sorted, ["id", ...Object.keys(TABLE_COLUMNS)]),
  ),
  model("many", sorted, ["id", "label", "amount"]),
  model("late"),
  model("million"),
  model("endless"),
  model("pages", paged, ["id", "label", "amount"]),
]);
const url = await serveManifest(manifest, { RATE_LIMITS: "100000" });

const SUFFIXES = ["parquet", "arrow", "arrows"] as const;
const TYPES = {
  parquet: "application/vnd.apache.parquet",
  arrow: "application/vnd.apache.arrow.file",
  arrows: "application/vnd.apache.arrow.stream",
} as const;

const ask = (target: string, headers: Record<string, string> = {}) =>
  sendRequest(url, target, { key, headers });

const bytesOf = async (target: string, headers: Record<string, string> = {}): Promise<Buffer> => {
  const { status, bytes } = await ask(target, headers);
  expect(status).toBe(200);
  return bytes;
};

interface Report {
  readonly rows: number;
  readonly groups: number;
  readonly types: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly differences: readonly string[];
}

/** What Python's libraries read of each format of a path, compared with its NDJSON. */
async function compare(...targets: readonly string[]): Promise<readonly Report[]> {
  const folders = await Promise.all(
    targets.map(async (target, i) => {
      const [path = "", query = ""] = target.split("?");
      const folder = join(ownFolder(), String(i));
      await mkdir(folder, { recursive: true });
      for (const suffix of ["ndjson", ...SUFFIXES])
        await writeFile(
          join(folder, `rows.${suffix}`),
          await bytesOf(`/v1/tables/${path}.${suffix}?${query}`),
        );
      return folder;
    }),
  );
  const program = join(import.meta.dirname, "compare-tables.py");
  const { stdout } = await run(programPath("python3"), [program, ...folders], { maxBuffer: 1e8 });
  return JSON.parse(stdout) as Report[];
}

/** Looked for without being loaded, which takes half a second of a processor. */
const FIND = `import importlib.util as u, sys
sys.exit(", ".join(name for name in ("pyarrow", "polars", "duckdb", "numpy") if u.find_spec(name) is None) or None)`;
const missing = await run(programPath("python3"), ["-c", FIND]).then(
  () => null,
  (error: unknown) => (error as Error).message,
);
if (missing !== null && process.env["CI"] === "true") throw new Error(missing);

describe.skipIf(missing !== null)("Parquet and Arrow, as pyarrow, polars and DuckDB read them,", () => {
  it("have the values of the NDJSON, with all digits, in the types of the columns, whatever the rows", async () => {
    const reports = await compare("special", "few", "one", "empty");
    expect(reports.map(({ rows, differences }) => [rows, differences])).toEqual([
      [2000, []],
      [100, []],
      [1, []],
      [0, []],
    ]);
    const [special] = reports;
    for (const { types } of reports) expect(types).toEqual(special?.types);
    const expected = Object.fromEntries(
      Object.entries(TABLE_COLUMNS).map(([name, { arrow }]) => [name, arrow]),
    );
    for (const types of Object.values(special?.types ?? {}))
      expect(types).toEqual({ id: "int32", ...expected });
  });

  it("have every row of a long table in several row groups, and the rows of a page", async () => {
    const [whole, page, short] = await compare(
      "many",
      `pages?limit=5000&offset=${String(MANY / 2)}`,
      "pages?limit=7",
    );
    expect([whole?.rows, whole?.differences]).toEqual([MANY, []]);
    expect(whole?.groups).toBeGreaterThan(1);
    expect([page?.rows, page?.differences]).toEqual([5000, []]);
    expect([short?.rows, short?.differences]).toEqual([7, []]);
  });
});

describe("a request for a table", () => {
  it.each(SUFFIXES)("names the format by suffix or by Accept: %s", async (suffix) => {
    const bySuffix = await ask(`/v1/tables/few.${suffix}`);
    const byAccept = await ask("/v1/tables/few", { accept: TYPES[suffix] });
    expect(bySuffix.headers["content-type"]).toBe(TYPES[suffix]);
    expect(byAccept.headers["content-type"]).toBe(TYPES[suffix]);
    expect(byAccept.bytes.equals(bySuffix.bytes)).toBe(true);
    expect(bySuffix.headers["content-length"]).toBe(String(bySuffix.bytes.length));
    const head = await sendRequest(url, `/v1/tables/few.${suffix}`, { key, method: "HEAD" });
    expect([head.status, head.headers["content-length"], head.text]).toEqual([
      200,
      bySuffix.headers["content-length"],
      "",
    ]);
  });

  it("is not chosen by clients that do not name it", async () => {
    for (const accept of ["*/*", "application/*", "application/octet-stream"]) {
      const { headers } = await sendRequest(url, "/v1/tables/few", { key, headers: { accept } });
      expect(headers["content-type"]).toMatch("application/json");
    }
  });

  it.each(SUFFIXES)("revalidates and reads parts: %s", async (suffix) => {
    const target = `/v1/tables/few.${suffix}`;
    const { headers, bytes } = await ask(target);
    const tag = headers["etag"] ?? "";
    const again = await sendRequest(url, target, { key, headers: { "if-none-match": tag } });
    expect([again.status, again.text]).toEqual([304, ""]);
    const part = await ask(target, { range: "bytes=-8" });
    expect([part.status, part.bytes.equals(bytes.subarray(-8))]).toEqual([206, true]);
  });

  it("is compressed once: Parquet by itself, Arrow as the client accepts", async () => {
    const headers = { "accept-encoding": "gzip" };
    for (const name of ["few", "many"]) {
      const parquet = await ask(`/v1/tables/${name}.parquet`, headers);
      expect(parquet.headers["content-encoding"]).toBeUndefined();
      expect(parquet.bytes.toString("latin1", 0, 4)).toBe("PAR1");
      const arrow = await ask(`/v1/tables/${name}.arrows`, headers);
      expect(arrow.headers["content-encoding"]).toBe("gzip");
    }
  });

  it("links the next page, counts, and takes a body", async () => {
    const headers = { prefer: "count=exact" };
    const first = await sendRequest(url, "/v1/tables/pages.parquet?limit=3", { key, headers });
    expect(first.headers["link"]).toContain("/v1/tables/pages.parquet?limit=3&offset=3");
    expect(first.headers["x-total-count"]).toBe(String(MANY));
    const last = await sendRequest(url, `/v1/tables/pages.parquet?limit=3&offset=${String(MANY - 3)}`, {
      key,
    });
    expect(last.headers["link"]).toBeUndefined();
    const long = await sendRequest(url, "/v1/tables/pages.parquet?limit=2000", { key });
    expect(long.headers["link"]).toContain("offset=2000");
    const body = { method: "POST", key, headers: { "content-type": "application/json" }, body: { limit: 3 } };
    const posted = await sendRequest(url, "/v1/tables/pages.parquet", body);
    expect([posted.headers["content-type"], posted.headers["etag"]]).toEqual([
      TYPES.parquet,
      first.headers["etag"],
    ]);
  });

  it("that is wrong has an error in JSON", async () => {
    const reply = await sendRequest(url, "/v1/tables/pages.parquet?limit=0", { key });
    expect(reply.headers["content-type"]).toMatch("application/json");
    expect(statusAndBody(reply)).toEqual(refusal(400, "'limit' must be >= 1."));
  });
});

describe.each(SUFFIXES)("a stream of a table: %s", (suffix) => {
  it("whose query fails in the middle ends with its connection, and without its end", async () => {
    const response = await begin(`${url}/v1/tables/late.${suffix}`, key);
    expect(response.statusCode).toBe(200);
    let text = "";
    await expect(async () => {
      for await (const chunk of response as AsyncIterable<Buffer>) text += chunk.toString("latin1");
    }).rejects.toThrow();
    expect(text.length).toBeGreaterThan(10_000);
    expect(text.slice(8)).not.toMatch(/PAR1$|ARROW1|\xff{4}\0{4}$/);
    expect(text).not.toMatch(/__exception__|DB::Exception|throwIf|ClickHouse version/);
  });

  it("ends its query when the client goes", async () => {
    const response = await begin(`${url}/v1/tables/endless.${suffix}`, key);
    response.resume();
    await sleep(300);
    await expect.poll(() => readers(schema)).toBe(1);
    response.destroy();
    await expect.poll(() => readers(schema)).toBe(0);
  });
});

describe.skipIf(process.platform !== "linux")("a million rows of a table", () => {
  // One class collects the rows of both, in batches; a file of Arrow has the batches of its stream, and a footer.
  const suffix = byEngine({ postgres: "parquet", clickhouse: "arrows" });

  it(`take bounded memory: ${suffix}`, async () => {
    const folder = ownInstallation(manifestOf([model("million"), model("few")]));
    const server = await serve(folder, ["--only", "data"], {
      DATABASE_URL: engineUrl(),
      API_KEYS: JSON.stringify({ [key]: "tier3" }),
    });
    const pid = server.child.pid ?? 0;
    // Loads the library.
    await sendRequest(server.url, `/v1/tables/few.${suffix}`, { key });
    await sleep(2000);
    let bytes = 0;
    const started = performance.now();
    const { idle, above } = await mostMemory(pid, async () => {
      const response = await begin(`${server.url}/v1/tables/million.${suffix}`, key);
      for await (const chunk of response as AsyncIterable<Buffer>) bytes += chunk.length;
    });
    const seconds = (performance.now() - started) / 1000;
    console.log(
      `${engine}, a million rows of six columns as ${suffix}: ${(bytes / 1e6).toFixed(0)} MB in ${seconds.toFixed(1)} s, ` +
        `at most ${(above / 1e6).toFixed(0)} MB above ${(idle / 1e6).toFixed(0)} MB`,
    );
    expect(bytes).toBeGreaterThan(10_000_000);
    expect(above).toBeLessThan(MILLION_MEGABYTES * 1024 * 1024);
  });
});

it.runIf(engine === "clickhouse")("no table names the version of ClickHouse", async () => {
  for (const suffix of SUFFIXES)
    for (const name of ["few", "many"]) {
      const text = (await bytesOf(`/v1/tables/${name}.${suffix}`)).toString("latin1");
      expect(/version|build/.test(text)).toBe(false);
    }
});
