/** Two workers serve while columns, relations, views, owners, partitions and settings of the role are swapped, each back and forth. */
import { randomBytes } from "node:crypto";
import pg from "pg";
import { expect, it } from "vitest";
import { atEnd } from "../support/at-end.js";
import { ownDatabase, query, queryAt } from "../support/database.js";
import { sendRequest } from "../support/http-client.js";
import { manifestOf } from "../support/manifest.js";
import { KEYS } from "../support/service.js";
import { project, serveWorkers } from "../server/operations/workers/served-workers.js";

/** Each swap is made so often, back and forth; `SWAP_ROUNDS=20` for more. */
const ROUNDS = Number(process.env["SWAP_ROUNDS"] ?? 1);
const CALLERS = 6;
const ROWS = 40;

/** By column: its two types, the value of row `i`, and how row 7 shows it under either. */
const COLUMNS = {
  text: [["varchar(10)", "varchar(20)"], "'x' || i", ['"x7"']],
  amount: [["numeric(10,2)", "numeric(12,4)"], "i + 0.25", ["7.25", "7.2500"]],
  local: [
    ["timestamp(0)", "timestamp(3)"],
    "timestamp '2026-01-01' + i * interval '1 day'",
    ['"2026-01-08T00:00:00Z"'],
  ],
  instant: [
    ["timestamptz(0)", "timestamptz(6)"],
    "timestamptz '2026-01-01Z' + i * interval '1 day'",
    ['"2026-01-08T00:00:00Z"'],
  ],
  span: [["interval(0)", "interval(3)"], "i * interval '1 day'", ['"7 days"']],
  number: [["integer", "bigint"], "i", ["7"]],
  name: [['text COLLATE "C"', 'text COLLATE "POSIX"'], "'y' || i", ['"y7"']],
} as const;
type Name = keyof typeof COLUMNS;
const NAMES = Object.keys(COLUMNS) as readonly Name[];

const database = await ownDatabase();
const role = `swapped_${randomBytes(5).toString("hex")}`;
const other = `${role}_other`;
for (const each of [role, other]) {
  await query(`CREATE ROLE ${each} LOGIN PASSWORD '${each}'`);
  atEnd(async () => {
    await query(`DROP ROLE ${each}`);
  });
}
atEnd(async () => {
  for (const each of [role, other]) await queryAt(database, `DROP OWNED BY ${each} CASCADE`);
});
const owner = new pg.Client({ connectionString: database });
await owner.connect();
atEnd(() => owner.end());
const run = (sql: string) => owner.query(sql);

const typed = (side: 0 | 1): string =>
  NAMES.map((name) => `(${COLUMNS[name][1]})::${COLUMNS[name][0][side]} AS ${name}`).join(", ");
const filled = (side: 0 | 1, more = ""): string =>
  `SELECT i AS id, ${typed(side)} FROM generate_series(1, ${String(ROWS)}) i ${more}`;
await run(`
  CREATE TABLE sales AS ${filled(0)};
  CREATE TABLE under AS ${filled(0)}; CREATE VIEW seen AS SELECT * FROM under;
  CREATE TABLE parts (LIKE sales) PARTITION BY RANGE (id);
  CREATE TABLE low (LIKE sales); INSERT INTO low ${filled(0, "WHERE i <= 20")};
  CREATE TABLE high (LIKE sales); INSERT INTO high ${filled(0, "WHERE i > 20")};
  ALTER TABLE parts ATTACH PARTITION low FOR VALUES FROM (1) TO (21);
  ALTER TABLE parts ATTACH PARTITION high FOR VALUES FROM (21) TO (41);
  ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT ON TABLES TO ${role};
  GRANT CREATE, USAGE ON SCHEMA public TO ${role}, ${other};
  GRANT SELECT ON ALL TABLES IN SCHEMA public TO ${role}`);

/** In one transaction, as dbt swaps; the second statement of a pair swaps back. */
const SWAPS: Readonly<Record<string, readonly [string, string]>> = {
  ...Object.fromEntries(
    NAMES.map((name) => {
      const alter = (side: 0 | 1): string => `ALTER TABLE sales ALTER ${name} TYPE ${COLUMNS[name][0][side]}`;
      return [`a modifier or type of ${name}`, [alter(1), alter(0)] as const];
    }),
  ),
  "a relation": [1, 0].map(
    (side) =>
      `CREATE TABLE next AS ${filled(side as 0 | 1)}; ALTER TABLE sales RENAME TO former; ALTER TABLE next RENAME TO sales; DROP TABLE former`,
  ) as unknown as readonly [string, string],
  "a view": [
    "CREATE OR REPLACE VIEW seen AS SELECT * FROM sales",
    "DROP VIEW seen; CREATE VIEW seen AS SELECT * FROM under",
  ],
  "a table for a view": [
    `CREATE TABLE next AS ${filled(1)}; DROP VIEW seen; ALTER TABLE next RENAME TO seen`,
    "DROP TABLE seen; CREATE VIEW seen AS SELECT * FROM under",
  ],
  "an owner": [`ALTER TABLE sales OWNER TO ${other}`, "ALTER TABLE sales OWNER TO CURRENT_USER"],
  "a partition": [
    "ALTER TABLE parts DETACH PARTITION high",
    "ALTER TABLE parts ATTACH PARTITION high FOR VALUES FROM (21) TO (41)",
  ],
  "another partition in its place": [1, 0].map(
    (side) => `ALTER TABLE parts DETACH PARTITION low; DROP TABLE low; CREATE TABLE low (LIKE parts);
      INSERT INTO low ${filled(0, `WHERE i <= ${side === 1 ? "7" : "20"}`)}; ALTER TABLE parts ATTACH PARTITION low FOR VALUES FROM (1) TO (21)`,
  ) as unknown as readonly [string, string],
  "a setting of the role": [
    `ALTER ROLE ${role} SET timezone = 'Asia/Kolkata'; ALTER ROLE ${role} SET search_path = nowhere`,
    `ALTER ROLE ${role} RESET ALL`,
  ],
};

const model = (name: string) => ({
  ...{ name, schema: "public", key: "id", tags: ["production", "shop", `api:${name}`, "tier3"] },
  columns: {
    id: "integer",
    ...Object.fromEntries(NAMES.map((each) => [each, COLUMNS[each][0][0].replace(/ COLLATE.*/, "")])),
  },
  api: {
    allow_unfiltered: true,
    pagination: { enabled: true, default_limit: 10, max_limit: 100 },
    sort: [{ column: "id", direction: "ASC" }],
  },
  routewright: {
    fields: true,
    filters: ["id", ...NAMES],
    aggregate: { group_by: ["number"], measures: { n: { agg: "count" } } },
  },
});

/** Requests of row 7, in the forms in which a column is read, compared and grouped. */
const TARGETS = ["sales", "seen", "parts"].flatMap((name) => [
  `${name}?id[eq]=7`,
  `${name}.ndjson?id[eq]=7`,
  `${name}?fields=text,amount,id&id[eq]=7`,
  ...[
    `text[eq]=x7`,
    "amount[eq]=7.25",
    "local[eq]=2026-01-08T00:00:00Z",
    "span[eq]=7 days",
    "number[eq]=7",
    "name[eq]=y7",
  ].map((filter) => `${name}?${filter}`),
  `${name}?measures=n&group_by=number&number[eq]=7`,
]);

/** Why an answer is not that of row 7; null where it is. */
function problemOf(target: string, status: number, text: string): string | null {
  if (status !== 200) return `${target}: ${String(status)} ${text}`;
  if (target.includes("measures")) return text === '[{"number":7,"n":1}]' ? null : `${target}: ${text}`;
  const rows = text.trim().replace(/^\[|\]$/g, "");
  const values = Object.fromEntries(
    [...rows.matchAll(/"(\w+)":("[^"]*"|[\d.]+)/g)].map(([, name, value]) => [name, value]),
  );
  const wanted = target.includes("fields=") ? (["text", "amount"] as const) : NAMES;
  const isRight =
    values["id"] === "7" &&
    !rows.includes("},{") &&
    wanted.every((name) => (COLUMNS[name][2] as readonly unknown[]).includes(values[name]));
  return isRight ? null : `${target}: ${text}`;
}

/** Transactions of this database that were rolled back, once the sessions have said so. */
async function rolledBack(): Promise<number> {
  const [row] = await query(
    `SELECT xact_rollback::int AS n FROM pg_stat_database WHERE datname = '${new URL(database).pathname.slice(1)}'`,
  );
  return Number(row?.["n"]);
}

async function connections(): Promise<number> {
  const [row] = await queryAt(
    database,
    "SELECT count(*)::int AS n FROM pg_stat_activity WHERE application_name = 'routewright' AND datname = current_database()",
  );
  return Number(row?.["n"]);
}

it(
  "each swap is no error and no wrong row, and repeats at most one statement of each connection",
  async () => {
    const url = Object.assign(new URL(database), { username: role, password: role }).href;
    const folder = project(manifestOf(["sales", "seen", "parts"].map(model)));
    const served = await serveWorkers(folder, 2, { DATABASE_URL: url, RATE_LIMITS: "tier3=100000000" });
    const problems: string[] = [];
    let [isOver, asked, overloaded] = [false, 0, 0];
    const caller = async (first: number): Promise<void> => {
      for (let i = first; !isOver; i++) {
        const target = TARGETS[i % TARGETS.length] ?? "";
        const { status, text } = await sendRequest(served.url, encodeURI(`/v1/shop/${target}`), {
          key: KEYS.tier3,
        });
        asked++;
        // On an overloaded machine a request may have to be sent again.
        if (status === 503 && text.includes("overloaded")) {
          overloaded++;
          continue;
        }
        const problem = problemOf(target, status, text);
        if (problem !== null) problems.push(problem.slice(0, 300));
      }
    };
    const callers = Promise.all(Array.from({ length: CALLERS }, (_, i) => caller(i * 7)));
    atEnd(() => void (isOver = true));
    const askedOnce = () =>
      expect.poll(() => asked, { timeout: 120_000 }).toBeGreaterThan(TARGETS.length * CALLERS);
    await askedOnce();
    const before = await rolledBack();
    let [swaps, most] = [0, 0];
    for (let round = 0; round < ROUNDS; round++)
      for (const pair of Object.values(SWAPS))
        for (const sql of pair) {
          await run(`BEGIN; ${sql}; COMMIT`);
          swaps++;
          const until = asked + TARGETS.length;
          await expect.poll(() => asked, { timeout: 120_000, interval: 5 }).toBeGreaterThan(until);
          most = Math.max(most, await connections());
        }
    isOver = true;
    await callers;
    await served.stop();
    const repeated = (await rolledBack()) - before;
    console.log(
      `${String(asked)} requests, ${String(swaps)} swaps, ${String(most)} connections of two workers: ${String(problems.length)} wrong, ${String(repeated)} statements repeated, ${String(overloaded)} overloaded`,
    );
    expect(problems.slice(0, 5)).toEqual([]);
    expect(overloaded).toBeLessThan(asked / 10);
    expect(repeated).toBeGreaterThan(0);
    expect(repeated).toBeLessThanOrEqual(swaps * most);
  },
  600_000 + 60_000 * ROUNDS,
);
