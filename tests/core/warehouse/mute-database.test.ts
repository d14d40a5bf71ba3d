/**
 * A database that goes mute, in the midst of whatever it says: it neither answers nor closes a connection. PostgreSQL only: the
 * ClickHouse of the tests ends itself where its queries are cancelled; tests/clickhouse/faults.test.ts freezes one.
 */
import type { Socket } from "node:net";
import { expect, it } from "vitest";
import { databaseUrl, ownSchema } from "../../support/database.js";
import { proxyOf } from "../../support/database-proxy.js";
import { sendRequest } from "../../support/http-client.js";
import { manifestOf } from "../../support/manifest.js";
import { KEYS, serveManifest } from "../../support/service.js";
import { seeded } from "../../metrics/random-requests.js";

/** `MUTE_REQUESTS=300 npx vitest run …` asks so many, `MUTE_SEED` others. */
const COUNT = Number(process.env["MUTE_REQUESTS"] ?? 12);
const SEED = Number(process.env["MUTE_SEED"] ?? 1);

const schema = await ownSchema(
  `CREATE TABLE @.t AS SELECT i, repeat(md5(i::text), 4) AS text, i % 7 AS kind FROM generate_series(1, 100000) i;
  ALTER TABLE @.t ADD PRIMARY KEY (i);
  CREATE VIEW @.slow AS SELECT count(*) AS n FROM generate_series(1, 100000000)`,
);

const columns = { i: "integer", text: "text", kind: "integer" };
const manifest = manifestOf([
  {
    name: "t",
    schema,
    tags: ["production", "m", "api:t"],
    columns,
    key: "i",
    api: {
      methods: ["GET", "POST"],
      allow_unfiltered: true,
      sort: [{ column: "i", direction: "ASC" }],
      pagination: { enabled: true, default_limit: 10, max_limit: 100_000 },
    },
    routewright: { cursor: true, fields: true, filters: ["kind"] },
  },
  {
    name: "sums",
    schema,
    alias: "t",
    tags: ["production", "m", "api:sums"],
    columns,
    api: { methods: ["GET"], allow_unfiltered: true },
    routewright: { aggregate: { group_by: ["text"], measures: { n: { agg: "count" } } } },
  },
  { name: "slow", schema, tags: ["production", "m", "api:slow"], columns: { n: null } },
  { name: "whole", schema, alias: "t", tags: ["production", "m", "api:whole"], columns },
]);

/** Passes on what the database says until so many bytes; from then on nothing, in no connection, until it speaks again. */
async function mutableDatabase() {
  const silent = new Set<Socket>();
  let left = Infinity;
  const { url } = await proxyOf(databaseUrl, (client: Socket, open) => {
    const database = open();
    const pass = (to: Socket) => (bytes: Buffer) => {
      const said = bytes.subarray(0, Math.min(left, bytes.length));
      if (said.length > 0) to.write(said);
      if (to === client) left -= said.length;
      if (said.length < bytes.length) silent.add(client);
    };
    client.on("data", pass(database)).on("close", () => database.destroy());
    database.on("data", pass(client)).on("close", () => client.destroy());
  });
  /** The connections that were mute are lost. */
  const speak = (): void => {
    left = Infinity;
    for (const client of silent) client.destroy();
    silent.clear();
  };
  return { url, speak, muteAfter: (bytes: number): void => void (left = bytes) };
}

const TARGETS = [
  ...["?limit=1", "?limit=100", "?limit=20000", "?limit=100000", ".csv?limit=50000"].map(
    (of) => `/v1/m/t${of}`,
  ),
  ...["/v1/m/t?limit=50000&kind[lt]=5", "/v1/m/sums?group_by=text", "/odata/m__t?$count=true"],
  ...["", ".csv", ".ndjson"].map((format) => `/v1/m/whole${format}`),
];
const HEADERS = [{}, {}, { accept: "application/vnd.apache.parquet" }, { prefer: "count=exact" }];

/** Some are shorter than it takes to find out that a database hangs; what is asked takes less on a slow machine, too. */
const LIMITS = ["2000", "2500", "30000"];

const database = await mutableDatabase();
const services = await Promise.all(
  LIMITS.map((limit) =>
    serveManifest(manifest, {
      DATABASE_URL: database.url,
      STATEMENT_TIMEOUT_MS: limit,
      RATE_LIMITS: "100000000",
    }),
  ),
);
const random = seeded(SEED);
const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;

/** 0: the connection is reset. */
const statusOf = (base: string, target: string, headers = {}): Promise<number> =>
  sendRequest(base, target, { key: KEYS.tier3, headers }).then(
    ({ status }) => status,
    () => 0,
  );

it("is 400 where the query alone takes too long", async () => {
  expect(await statusOf(services[0] ?? "", "/v1/m/slow")).toBe(400);
});

it("is 503 before the first bytes, wherever it goes mute and whatever the time limit", async () => {
  const found: unknown[] = [];
  const tally: Record<string, number> = {};
  for (let n = 0; n < COUNT; n++) {
    const base = pick(services);
    const target = pick(TARGETS);
    const headers = target.startsWith("/odata") ? {} : pick(HEADERS);
    const bytes = Math.floor(10 ** (7.3 * random())) - 1;
    await expect.poll(() => statusOf(base, `/v1/m/t?limit=1&offset=${String(n)}`)).toBe(200);
    database.muteAfter(bytes);
    const status = await statusOf(base, target, headers);
    database.speak();
    tally[status] = (tally[status] ?? 0) + 1;
    const limit = LIMITS[services.indexOf(base)];
    if (![200, 0, 503].includes(status)) found.push({ target, headers, limit, bytes, status });
  }
  console.log("statuses of a database that goes mute (0: reset):", JSON.stringify(tally));
  expect(found).toEqual([]);
  expect(tally["503"]).toBeGreaterThan(COUNT / 4);
}, 3_600_000);
