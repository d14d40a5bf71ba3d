/** A role's `search_path` puts an own schema before `pg_catalog`: nothing in it decides rows, groups or values. */
import { isDeepStrictEqual } from "node:util";
import { describe, expect, it } from "vitest";
import { inspectDatabase } from "../../generator/commands/database.js";
import { inPay, payDatabase } from "../metrics/pay-tables.js";
import { askedRows, isSameRow, requestsOf } from "../metrics/random-requests.js";
import { ownDatabase, queryAt } from "../support/database.js";
import { sendRequest } from "../support/http-client.js";
import { KEYS, serveManifest } from "../support/service.js";
import { withHostilePath } from "./search-path.js";
import { MODELS, ROWS, SETUP } from "./search-path-requests.js";

const API_KEYS = JSON.stringify({ sk_live_acme: { tier: "tier3", user: "someone", org: "acme" } });

interface Answer {
  readonly target: string;
  readonly status: number;
  readonly total: string;
  readonly text: string;
}

/** The same manifest on a database, and on a copy of it with an own schema before `pg_catalog`. */
async function servedTwice(
  manifest: unknown,
  plain: string,
  variables: object = {},
): Promise<[string, string]> {
  const hostile = await ownDatabase(plain);
  await withHostilePath(hostile);
  const serve = (database: string): Promise<string> =>
    serveManifest(manifest, { DATABASE_URL: database, RATE_LIMITS: "1000000", ...variables });
  return [await serve(plain), await serve(hostile)];
}

describe("rows", async () => {
  const plain = await ownDatabase();
  await queryAt(plain, SETUP);
  const [wanted, got] = await servedTwice(MODELS, plain, { API_KEYS, CURSOR_KEY: "ab".repeat(32) });
  const ask = async (url: string, target: string): Promise<Answer> => {
    const reply = await sendRequest(url, target, { key: "sk_live_acme", headers: { Prefer: "count=exact" } });
    return { target, status: reply.status, total: String(reply.headers["x-total-count"]), text: reply.text };
  };

  it(`${String(ROWS.length)} requests`, async () => {
    const differing: unknown[] = [];
    for (const target of ROWS) {
      const [isWalk, answers] = [target.endsWith("cursor="), [] as object[]];
      for (let next = target as string | null; next !== null && answers.length < 9;) {
        const [answer, other]: [Answer, Answer] = await Promise.all([ask(wanted, next), ask(got, next)]);
        answers.push(answer);
        if (answer.status !== 200 || answer.text.includes("secret") || !isDeepStrictEqual(answer, other))
          differing.push([answer, other]);
        const cursor: string | undefined = /"next_cursor":"([^"]*)"/.exec(answer.text)?.[1];
        next = isWalk && cursor !== undefined ? `${target}${cursor}` : null;
      }
      expect([target, answers.length]).toEqual([target, isWalk ? 4 : 1]);
    }
    expect(differing.slice(0, 10)).toEqual([]);
  });

  it("values of a filter", async () => {
    const values = "/v1/system/values?endpoint=/v1/shop/rows&column=label";
    expect(await ask(got, values)).toEqual(await ask(wanted, values));
  });
});

/** Requests for metrics; `PATH_REQUESTS=2000` for more. */
const REQUESTS = Number(process.env["PATH_REQUESTS"] ?? 300);

interface Named {
  readonly name: string;
  readonly expr: string | null;
}

/** Names of metrics, measures and dimensions whose SQL the project writes: it is looked up as the role's path says, like a view's. */
function projectNames(manifest: Record<string, Record<string, object>>): ReadonlySet<string> {
  const found = new Set<string>();
  for (const model of Object.values(manifest["semantic_models"] ?? {}))
    for (const { name, expr } of ["measures", "dimensions", "entities"].flatMap(
      (kind) => (model as Record<string, Named[]>)[kind] ?? [],
    ))
      if (expr !== null && !/^\w+$/.test(expr)) found.add(name);
  const metrics = Object.values(manifest["metrics"] ?? {}) as (Named & {
    type_params: unknown;
    filter: unknown;
  })[];
  for (let size = -1; size < found.size;) {
    size = found.size;
    for (const { name, type_params: parameters, filter } of metrics) {
      const text = JSON.stringify([parameters, filter]);
      const names = [...text.matchAll(/"name":"(\w+)"/g)].map(([, each = ""]) => each);
      if (/where_sql_template|"expr":"[^"]*\W/.test(text) || names.some((each) => found.has(each)))
        found.add(name);
    }
  }
  return found;
}

describe("metrics", async () => {
  const manifest = JSON.parse(inPay("manifest.json")) as Record<string, Record<string, object>>;
  const [wanted, got] = await servedTwice(manifest, await payDatabase("America/New_York"));
  const own = projectNames(manifest);

  it(
    `${String(REQUESTS)} random requests`,
    async () => {
      let compared = 0;
      for (const request of requestsOf(manifest, REQUESTS)) {
        const words = request.split(/[^a-z_]+|__/);
        if (words.some((word) => own.has(word))) continue;
        const answer = await askedRows(wanted, request, KEYS.tier3);
        if (answer.status !== 200) continue;
        const other = await askedRows(got, request, KEYS.tier3);
        // Sums of floats depend on the order of the rows.
        const isSame = answer.rows.every((row, i) => isSameRow(row, other.rows[i] ?? {}));
        expect([request, other.status, other.rows.length]).toEqual([request, 200, answer.rows.length]);
        expect([request, isSame]).toEqual([request, true]);
        compared++;
      }
      expect(compared).toBeGreaterThan(REQUESTS / 10);
    },
    180_000 + 500 * REQUESTS,
  );
});

it("what verify and columns pull look up", async () => {
  const plain = await ownDatabase();
  await queryAt(plain, SETUP);
  const hostile = await ownDatabase(plain);
  await withHostilePath(hostile);
  const found = (databaseUrl: string) =>
    inspectDatabase({ databaseUrl, clickhouse: null }, async ({ readRelations, readSource }) => [
      await readRelations([["app", "rows"]]),
      await readSource({ relation: "app.rows" }),
    ]);
  const wanted = await found(plain);
  expect(wanted).toMatchObject({ ok: true });
  expect(await found(hostile)).toEqual(wanted);
});
