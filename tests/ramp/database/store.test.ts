import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import pg from "pg";
import { describe, expect, it } from "vitest";
import { atEnd } from "../../support/at-end.js";
import { INTENT_MOVES, TRANSACTION_MOVES } from "../../../runtime/ramp/intents/intent.js";
import type { ProjectId } from "../../../runtime/ramp/database/id.js";
import { DEPOSIT_ACCOUNT_MOVES } from "../../../runtime/ramp/intents/deposit-account.js";
import { REFUND_TRANSITIONS } from "../../../runtime/ramp/intents/refund-transitions.js";
import { REQUIREMENT_MOVES } from "../../../runtime/ramp/intents/requirement.js";
import { openDatabase } from "../../../runtime/ramp/database/ramp-database.js";
import { migrate } from "../../../runtime/ramp/database/migrate.js";
import released from "./released-schemas.json" with { type: "json" };
import { startProcess } from "../support/processes.js";
import { call, eventually, newCustomer, onramp, ownDatabase, queryAt, ownWorld } from "../support/world.js";

/** By release and file: SHA-256 of each migration that a release has shipped. */
const RELEASED: Readonly<Record<string, Readonly<Record<string, string>>>> = released;

const world = await ownWorld();

describe("migrations", () => {
  it("run once, also when several servers start together", async () => {
    const url = await ownDatabase();
    const ran = await Promise.all([migrate(url), migrate(url), migrate(url)]);
    const files = readdirSync(new URL("../../../runtime/ramp/database/migrations", import.meta.url)).sort();
    expect(ran.flat().map((name) => `${name}.sql`)).toEqual(files);
    expect(await migrate(url)).toEqual([]);
  });

  it("have a number each, which says the order in which they run", () => {
    const files = readdirSync(new URL("../../../runtime/ramp/database/migrations", import.meta.url));
    const numbers = files.map((file) => /^(\d{4})_[a-z_]+\.sql$/.exec(file)?.[1] ?? `${file} has none`);
    expect(numbers.sort()).toEqual([...new Set(numbers)].sort());
    expect(numbers.filter((number) => !/^\d+$/.test(number))).toEqual([]);
  });

  it("refuse the tables of a version that was never released, and say what to do", async () => {
    const url = await ownDatabase();
    await migrate(url);
    await queryAt(url, "UPDATE ramp.migrations SET name = '0001_accounts'");
    await expect(migrate(url)).rejects.toThrow(
      /Delete `\.data\/`, or set RAMP_DATABASE_URL to a new database/,
    );
  });

  it("do not go back: an older Routewright changes nothing in a newer database", async () => {
    const url = await ownDatabase();
    await migrate(url);
    await queryAt(url, "INSERT INTO ramp.migrations (name, run_on) VALUES ('9999_future', now())");
    const before = await queryAt(url, "SELECT name FROM ramp.migrations ORDER BY name");
    expect(await migrate(url)).toEqual([]);
    expect(await queryAt(url, "SELECT name FROM ramp.migrations ORDER BY name")).toEqual(before);
  });
});

it("the migration takes the index that the changelog says to build first on a large table", async () => {
  const { databaseUrl } = world;
  const read = (path: string): string =>
    readFileSync(new URL(`../../../runtime/ramp/${path}`, import.meta.url), "utf8");
  const [, first = ""] = /```sql\n(CREATE INDEX CONCURRENTLY[^`]+)```/.exec(read("docs/changelog.md")) ?? [];
  const built = (): ReturnType<typeof queryAt> =>
    queryAt(
      databaseUrl,
      "SELECT indexrelid, pg_get_indexdef(indexrelid) AS text FROM pg_index WHERE indrelid = 'ramp.webhook_deliveries'::regclass AND indisvalid ORDER BY 2",
    );
  const texts = (await built()).map(({ text }) => text);
  await queryAt(databaseUrl, "DROP INDEX ramp.webhook_deliveries_ended");
  await queryAt(databaseUrl, first);
  const before = await built();
  expect(before.map(({ text }) => text)).toEqual(texts);
  await queryAt(databaseUrl, read("database/migrations/0030_ended_deliveries.sql"));
  expect(await built()).toEqual(before);
});

describe("released schemas", () => {
  it("never change: another release adds files to those of the one before, and is recorded", () => {
    const read = (path: string): string =>
      readFileSync(new URL(`../../../runtime/${path}`, import.meta.url), "utf8");
    const { version } = JSON.parse(read("package.json")) as { version: string };
    expect(Object.keys(RELEASED), "record it in tests/ramp/database/released-schemas.json").toContain(
      version,
    );
    for (const [release, files] of Object.entries(RELEASED))
      for (const [file, digest] of Object.entries(files))
        expect(
          [
            release,
            file,
            createHash("sha256")
              .update(read(`ramp/database/migrations/${file}`))
              .digest("hex"),
          ],
          "add a migration; a database that has run this file does not run it again",
        ).toEqual([release, file, digest]);
    const shipped = Object.values(RELEASED).map((files) => Object.keys(files));
    shipped.slice(1).forEach((files, i) => expect(files).toEqual(expect.arrayContaining(shipped[i] ?? [])));
  });

  it("may get columns and tables while servers of before and after work on one database", async () => {
    const { databaseUrl } = world;
    const tables = await queryAt(
      databaseUrl,
      "SELECT table_name FROM information_schema.tables WHERE table_schema = 'ramp' AND table_type = 'BASE TABLE' AND table_name <> 'migrations'",
    );
    const project = await world.project();
    const auth = await newCustomer(world, project);
    const pay = async (base: string): Promise<void> => {
      const { json } = await call(base, "POST", "/v1/intent", { auth, body: onramp({ autoExecute: true }) });
      await eventually(
        () => call(base, "GET", `/v1/intent/${String(json.intent.id)}`, { auth }),
        (reply) => reply.json.intent?.status === "COMPLETED",
      );
    };
    await pay(world.url);
    for (const { table_name: table } of tables)
      await queryAt(databaseUrl, `ALTER TABLE ramp.${String(table)} ADD COLUMN of_the_next_release text`);
    await queryAt(databaseUrl, "INSERT INTO ramp.migrations (name, run_on) VALUES ('0002_next', now())");
    const after = await startProcess("./ramp-process.ts", {
      RAMP_TEST_DATABASE: databaseUrl,
      RAMP_TEST_PUBLIC_URL: world.url,
    });
    await Promise.all([pay(world.url), pay(after.said)]).finally(() => after.kill());
  });
});

const targetsOf = (moves: Readonly<Record<string, object>>) =>
  Object.fromEntries(Object.entries(moves).map(([from, tos]) => [from, Object.keys(tos)]));

describe("moves", () => {
  it.each([
    ["intent_may_move", INTENT_MOVES],
    ["transaction_may_move", TRANSACTION_MOVES],
    ["requirement_may_move", targetsOf(REQUIREMENT_MOVES)],
    ["refund_may_move", targetsOf(REFUND_TRANSITIONS)],
    ["deposit_account_may_move", targetsOf(DEPOSIT_ACCOUNT_MOVES)],
  ])(
    "are the same in the code and in the database: %s",
    async (name, moves: Readonly<Record<string, readonly string[]>>) => {
      const statuses = Object.keys(moves);
      const rows = await world.rows(
        `SELECT a AS from_status, b AS to_status FROM unnest($1::text[]) a, unnest($1::text[]) b WHERE ramp.${name}(a, b)`,
        [statuses],
      );
      const inDatabase = rows
        .map(({ from_status, to_status }) => `${String(from_status)} ${String(to_status)}`)
        .sort();
      const inCode = Object.entries(moves).flatMap(([from, tos]) => tos.map((to) => `${from} ${to}`));
      expect(inDatabase).toEqual(inCode.sort());
    },
  );

  it("that are not allowed fail in the database", async () => {
    const project = await world.project();
    const auth = await newCustomer(world, project);
    const { json } = await world.call("POST", "/v1/intent", { auth, body: onramp() });
    const move = (status: string): Promise<unknown> =>
      world.rows("UPDATE ramp.intents SET status = $2 WHERE id = $1", [json.intent.id, status]);
    await expect(move("COMPLETED")).rejects.toMatchObject({ code: "RW001" });
    await expect(move("PENDING")).rejects.toMatchObject({ code: "RW001" });
    await move("CANCELLED");
    for (const status of Object.keys(INTENT_MOVES).filter((status) => status !== "CANCELLED"))
      await expect(move(status)).rejects.toMatchObject({ code: "RW001" });
  });

  it("of one statement are each checked", async () => {
    const project = await world.project();
    const auth = await newCustomer(world, project);
    const { json } = await world.call("POST", "/v1/intent", { auth, body: onramp() });
    const add = (code: string, via: string | null, status = "COMPLETED") =>
      world.rows(
        `INSERT INTO ramp.requirements (project_id, intent_id, code, position, title, via, status) VALUES ($1, $2, $3, 9, 'Title', $4, $5)
         RETURNING status, via`,
        [project.id, json.intent.id, code, via, status],
      );
    for (const via of [null, "{PENDING}", "{IN_PROGRESS}", "{PENDING,FAILED}", "{PENDING,NULL}", "{NULL}"])
      await expect(add("REFUSED", via)).rejects.toMatchObject({ code: "RW001" });
    expect(await add("TAKEN", "{PENDING,IN_PROGRESS}")).toEqual([{ status: "COMPLETED", via: null }]);
    const cancel =
      "UPDATE ramp.intents SET via = '{CANCELLED}', status = $2 WHERE id = $1 RETURNING status, via";
    const left = world.rows(cancel, [json.intent.id, "PENDING_PAYMENT"]);
    await expect(left).rejects.toMatchObject({ code: "RW001" });
    expect(await world.rows(cancel, [json.intent.id, "CANCELLED"])).toEqual([
      { status: "CANCELLED", via: null },
    ]);
  });

  it("that follow each other in a transaction are one statement", async () => {
    const project = await world.project();
    const auth = await newCustomer(world, project);
    const { json } = await world.call("POST", "/v1/intent", { auth, body: onramp() });
    const write = (...[first = "", ...others]: readonly string[]) =>
      world.database.inProject(project.id, (tx) => {
        const key = { intentId: json.intent.id as string, code: `CHECK_${String(others.length)}` };
        tx.insert("requirements", { ...key, status: first, position: 9, title: "Title" });
        for (const status of others) tx.update("requirements", key, { status });
        return tx.row(
          `SELECT pg_stat_get_xact_tuples_inserted(t)::int AS inserted, pg_stat_get_xact_tuples_updated(t)::int AS updated
           FROM CAST('ramp.requirements' AS regclass) AS t`,
        );
      });
    expect(await write("PENDING", "IN_PROGRESS", "COMPLETED")).toEqual({ inserted: 1, updated: 0 });
    await expect(write("PENDING", "COMPLETED")).rejects.toMatchObject({ code: "RW001" });
  });

  it("need no second transaction: an intent has one for life", async () => {
    const project = await world.project();
    const auth = await newCustomer(world, project);
    const { json } = await world.call("POST", "/v1/intent", { auth, body: onramp() });
    const insert = (): Promise<unknown> =>
      world.rows(
        "INSERT INTO ramp.transactions (project_id, id, intent_id, status) VALUES ($1, gen_random_uuid(), $2, 'PENDING')",
        [project.id, json.intent.id],
      );
    await insert();
    await expect(insert()).rejects.toMatchObject({ code: "23505" });
  });
});

const SCOPED = `SELECT c.table_name FROM information_schema.columns c
  WHERE c.table_schema = 'ramp' AND c.column_name = 'project_id'`;

describe("the scope of a project", () => {
  it("is forced on every table that belongs to projects", async () => {
    const open = await world.rows(`SELECT relname FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace
       WHERE n.nspname = 'ramp' AND relkind = 'r' AND NOT (relrowsecurity AND relforcerowsecurity)
         AND (relname = 'projects' OR relname IN (${SCOPED}))`);
    expect(open).toEqual([]);
    const scoped = await world.rows(SCOPED);
    expect(scoped.length).toBeGreaterThan(10);
  });

  it("hides every row of another project, and refuses to write one", async () => {
    const [mine, theirs] = [await world.project(), await world.project()];
    await world.webhook(theirs, "http://127.0.0.1:9/");
    await world.identityProvider(theirs, "https://id.example.com", "app");
    const auth = await newCustomer(world, theirs);
    await world.call("POST", "/v1/intent", { auth, body: onramp({ autoExecute: true }), key: "k" });
    for (const { table_name: table } of await world.rows(SCOPED)) {
      if (table === "client_secrets" || table === "audit_log") continue;
      const seen = await world.database.inProject(mine.id, (tx) =>
        tx.rows(`SELECT FROM ramp.${String(table)} WHERE project_id = $1`, [theirs.id]),
      );
      expect([table, seen.length]).toEqual([table, 0]);
      // The journal is append-only, and of a refund only the state changes.
      if (table === "postings" || table === "refund_requests") continue;
      const changed = world.database.inProject(mine.id, (tx) =>
        tx.rows(
          `UPDATE ramp.${String(table)} SET project_id = project_id WHERE project_id = $1 RETURNING 1`,
          [theirs.id],
        ),
      );
      expect([table, (await changed).length]).toEqual([table, 0]);
    }
    const smuggled = world.database.inProject(mine.id, (tx) =>
      tx.rows(
        "INSERT INTO ramp.customers (project_id, id, reference, external_id) VALUES ($1, 'x', gen_random_uuid(), 'x')",
        [theirs.id],
      ),
    );
    await expect(smuggled).rejects.toMatchObject({ code: "42501" });
  });

  it("keeps secrets and keys of the service out of a project's reach", async () => {
    const project = await world.project();
    for (const table of ["client_secrets", "audit_log", "signing_keys", "wallet_nonces", "organizations"]) {
      const read = world.database.inProject(project.id, (tx) => tx.rows(`SELECT r FROM ramp.${table} r`));
      await expect(read, table).rejects.toMatchObject({ code: "42501" });
    }
  });

  it("takes nothing for a project but a project's id", () => {
    const hostile = "'; DROP SCHEMA ramp CASCADE; --" as ProjectId;
    expect(() => world.database.inProject(hostile, () => Promise.resolve())).toThrow("Not a project id.");
  });

  it("holds as well where the tables belong to an account that is no superuser", async () => {
    const url = await ownDatabase();
    const role = `plain_${Math.random().toString(36).slice(2)}`;
    await queryAt(url, `CREATE ROLE ${role} LOGIN PASSWORD 'x' NOSUPERUSER NOBYPASSRLS`);
    await queryAt(url, `GRANT ALL ON DATABASE ${new URL(url).pathname.slice(1)} TO ${role}`);
    await queryAt(url, `GRANT ALL ON SCHEMA public TO ${role}`);
    atEnd(async () => {
      await queryAt(url, `DROP OWNED BY ${role} CASCADE`);
      await queryAt(url, `DROP ROLE ${role}`);
    });
    const plain = new URL(url);
    plain.username = role;
    plain.password = "x";
    await migrate(plain.href);
    const database = await openDatabase({ url: plain.href, onIdleError: () => undefined });
    const [mine, theirs] = [
      "00000000-0000-4000-8000-000000000001",
      "00000000-0000-4000-8000-000000000002",
    ] as [ProjectId, ProjectId];
    await database.asOperator(async (tx) => {
      await tx.rows("INSERT INTO ramp.organizations (id, name) VALUES ($1, 'x')", [mine]);
      for (const id of [mine, theirs])
        await tx.rows(
          "INSERT INTO ramp.projects (id, organization_id, name, client_id) VALUES ($1, $2, 'x', $3)",
          [id, mine, id],
        );
    });
    for (const id of [mine, theirs])
      await database.inProject(id, (tx) =>
        tx.rows(
          "INSERT INTO ramp.customers (id, reference, external_id) VALUES ('c', gen_random_uuid(), 'c')",
        ),
      );
    const seen = await database.inProject(mine, (tx) => tx.rows("SELECT project_id FROM ramp.customers"));
    expect(seen).toEqual([{ project_id: mine }]);
    const client = new pg.Client({ connectionString: plain.href });
    await client.connect();
    await expect(client.query("SELECT FROM ramp.customers")).rejects.toMatchObject({ code: "RW007" });
    await client.end();
    await database.close();
  });
});
