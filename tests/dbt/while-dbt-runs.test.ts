import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { run, serve } from "../support/command.js";
import { query } from "../support/database.js";
import { DbtProject } from "../support/dbt.js";
import { byEngine, engine, engineUrl, ownTables } from "../support/engines.js";
import { needs } from "../support/needs.js";
import { ownFolder } from "../support/service.js";
import { CLICKHOUSE_SHOP, ROWS, SHOP } from "./project.js";

/** How long dbt runs over and over, at least `MIN_RUNS` times: `DBT_LOOP_SECONDS=60` for a longer look. */
const LOOP_MS = Number(process.env["DBT_LOOP_SECONDS"] ?? 0) * 1000;
const MIN_RUNS = 2;

/** dbt itself takes ten times as long on a machine that is busy. */
const TIMEOUT_MS = 900_000;

/** A relation that was away longer than the server waits may fail (runtime/docs/freshness.md). */
const PATIENCE_MS = 2000;

/** Endpoint → the relation behind it, and the node whose build is the last of those that its rows come from. */
const ENDPOINTS: Readonly<Record<string, { readonly relation: string; readonly node: string }>> = {
  table: { relation: "table", node: "model.shop.table" },
  view: { relation: "above", node: "model.shop.above" },
  incremental: { relation: "log", node: "model.shop.log" },
  ...byEngine({
    postgres: {
      materialized: { relation: "stored", node: "model.shop.stored" },
      history: { relation: "history", node: "model.shop.history" },
    },
    clickhouse: {
      overwritten: { relation: "overwritten", node: "model.shop.overwritten" },
      deleted: { relation: "deleted", node: "model.shop.deleted" },
    },
  }),
};
type Name = string;
const NAMES = Object.keys(ENDPOINTS);

interface Answer {
  readonly name: Name;
  readonly at: number;
  readonly status: number;
  /** The rows that the reader has after the answer: of this one, or those that a 304 confirms. */
  readonly rows: readonly { readonly n: number }[];
  readonly asOf: string | null;
}

/** Reads all endpoints in turn until it is stopped. */
class Reader {
  readonly answers: Answer[] = [];
  readonly #url: string;
  readonly #isConditional: boolean;
  readonly #held = new Map<Name, { readonly tag: string; readonly rows: Answer["rows"] }>();
  #isStopped = false;
  readonly #done: Promise<void>;

  /** `isConditional`: it asks with the tag of what it has. */
  constructor(url: string, isConditional: boolean) {
    this.#url = url;
    this.#isConditional = isConditional;
    this.#done = this.#run();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#done;
  }

  async #run(): Promise<void> {
    while (!this.#isStopped) {
      for (const name of NAMES) this.answers.push(await this.#read(name));
      await sleep(20);
    }
  }

  async #read(name: Name): Promise<Answer> {
    const held = this.#held.get(name);
    const at = performance.now();
    const response = await fetch(`${this.#url}/v1/flows/${name}`, {
      headers: held === undefined ? {} : { "If-None-Match": held.tag },
    });
    const text = await response.text();
    const { status } = response;
    const asOf = response.headers.get("x-data-as-of");
    if (status !== 200) return { name, at, status, rows: held?.rows ?? [], asOf };
    // ClickHouse reads the parts of a table in any order.
    const rows = (JSON.parse(text) as { n: number }[]).sort((a, b) => a.n - b.n);
    const tag = response.headers.get("etag");
    if (tag !== null && this.#isConditional) this.#held.set(name, { tag, rows });
    return { name, at, status, rows, asOf };
  }
}

/** Spans of time in which a relation was not there. */
class Watcher {
  readonly #schema: string;
  readonly #gone = new Map<string, { from: number; to: number }[]>();
  readonly #away = new Map<string, number>();
  readonly #done: Promise<void>;
  #isStopped = false;

  constructor(schema: string) {
    this.#schema = schema;
    this.#done = this.#run();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#done;
  }

  /** Whether a relation was away for as long as the server waits while a request that began at `at` ran. */
  excuses(relation: string, at: number): boolean {
    const spans = this.#gone.get(relation) ?? [];
    return spans.some(({ from, to }) => to - from > PATIENCE_MS && from <= at + PATIENCE_MS && at <= to);
  }

  /** ClickHouse's relations are exchanged: they are never away. */
  async #run(): Promise<void> {
    while (!this.#isStopped && engine === "postgres") {
      const rows = await query("SELECT relname FROM pg_class WHERE relnamespace = $1::regnamespace", [
        `"${this.#schema}"`,
      ]);
      const there = new Set(rows.map(({ relname }) => relname));
      const now = performance.now();
      for (const { relation } of Object.values(ENDPOINTS)) this.#note(relation, there.has(relation), now);
      await sleep(50);
    }
  }

  #note(relation: string, isThere: boolean, now: number): void {
    const from = this.#away.get(relation);
    if (!isThere) {
      if (from === undefined) this.#away.set(relation, now);
    } else if (from !== undefined) {
      this.#gone.set(relation, [...(this.#gone.get(relation) ?? []), { from, to: now }]);
      this.#away.delete(relation);
    }
  }
}

const timesOf = (project: DbtProject): ReadonlyMap<string, string> => {
  const { results } = JSON.parse(readFileSync(project.runResultsFile, "utf8")) as {
    results: { unique_id: string; timing: { name: string; completed_at: string }[] }[];
  };
  return new Map(
    results.map(({ unique_id, timing }) => {
      const { completed_at = "" } = timing.find(({ name }) => name === "execute") ?? {};
      return [unique_id, new Date(completed_at).toISOString()];
    }),
  );
};

/** A server over a project that has been built once; null without dbt. */
async function start() {
  const files = byEngine({ postgres: SHOP, clickhouse: CLICKHOUSE_SHOP });
  const project = new DbtProject(await ownTables({ postgres: "SELECT 1", clickhouse: [] }), files);
  let runs = 0;
  /** Endpoint and `X-Data-As-Of` → the build. */
  const builds = new Map<string, number>();
  const build = async (): Promise<number> => {
    runs++;
    const { code, output } = await project.run("build", "--vars", JSON.stringify({ n: runs }));
    expect(output).toContain("Completed successfully");
    expect(code).toBe(0);
    const times = timesOf(project);
    for (const [name, { node }] of Object.entries(ENDPOINTS))
      builds.set(`${name} ${String(times.get(node))}`, runs);
    return runs;
  };
  await build();
  const folder = ownFolder();
  const variables = {
    DATABASE_URL: engineUrl(),
    DBT_MANIFEST_PATH: project.manifestFile,
    DBT_RUN_RESULTS_PATH: project.runResultsFile,
    USAGE_ENABLED: "false",
    RATE_LIMITS: "tier0=1000000",
  };
  expect(await run(folder, ["generate"], variables)).toMatchObject({ code: 0 });
  const server = await serve(folder, ["--only", "data", "--watch"], variables);
  return { url: server.url, schema: project.schema, build, builds };
}

const started = needs("dbt") ? await start() : null;

describe.skipIf(started === null)("a reader while dbt runs again and again", () => {
  const { url, schema, build, builds } = started ?? ({} as NonNullable<typeof started>);

  it(
    "gets whole builds, none older than the version they carry, and 200 or 304 throughout",
    async () => {
      const readers = [new Reader(url, true), new Reader(url, false)];
      const watcher = new Watcher(schema);
      let runs = 0;
      const end = Date.now() + LOOP_MS;
      while (runs <= MIN_RUNS || Date.now() < end) runs = await build();
      const last = (name: Name): unknown =>
        readers.map(({ answers }) => answers.findLast((answer) => answer.name === name)?.rows.at(-1)?.n);
      await expect.poll(() => NAMES.map(last)).toEqual(NAMES.map(() => [runs, runs]));
      await Promise.all([...readers, watcher].map((each) => each.stop()));
      const answers = readers.flatMap((reader) => reader.answers);
      const failed = answers.filter(({ status }) => status !== 200 && status !== 304);
      expect(failed.filter(({ name, at }) => !watcher.excuses(ENDPOINTS[name]?.relation ?? "", at))).toEqual(
        [],
      );
      const good = answers.filter(({ status }) => status === 200 || status === 304);
      expect(good.filter((answer) => !isWhole(answer)).map(inShort)).toEqual([]);
      expect(good.filter(isStale).map(inShort)).toEqual([]);
      // It has seen the builds come, and versions with them.
      expect(good.filter(({ status }) => status === 304).length).toBeGreaterThan(MIN_RUNS);
      for (const name of NAMES) {
        const versions = good.flatMap((answer) => (answer.name === name ? (answer.asOf ?? []) : []));
        expect(new Set(versions).size, name).toBeGreaterThanOrEqual(2);
      }
      console.log(
        `${String(runs)} builds, ${String(answers.length)} answers: ${String(failed.length)} failed (relation away for more than 2 s), ${String(good.filter(({ rows }) => rows.length === 0).length)} without rows, ${String(good.filter(({ status }) => status === 304).length)} not modified`,
      );
    },
    TIMEOUT_MS,
  );

  function inShort({ name, status, rows, asOf }: Answer): string {
    const build = builds.get(`${name} ${String(asOf)}`);
    return `${name} ${String(status)}: rows of ${rows.map(({ n }) => n).join()} as of build ${String(build)} (${String(asOf)})`;
  }

  /** All rows are of one build; the incremental model has a row of each. */
  function isWhole({ name, rows }: Answer): boolean {
    if (name === "incremental") return rows.length > 0 && rows.every(({ n }, i) => n === i + 1);
    // Between deleting and inserting there are no rows.
    if (name === "deleted" && rows.length === 0) return true;
    return rows.length === ROWS && rows.every(({ n }) => n === rows[0]?.n);
  }

  /**
   * Rows may be newer than the last build that dbt has reported, never older. While dbt has parsed its project and not yet
   * compiled it, its manifest has no SQL: views have no version then, and the tag is of the rows themselves.
   */
  function isStale({ name, rows, asOf }: Answer): boolean {
    if (asOf === null || (name === "deleted" && rows.length === 0)) return false;
    const reported = builds.get(`${name} ${asOf}`);
    return reported === undefined || (rows.at(-1)?.n ?? 0) < reported;
  }
});
