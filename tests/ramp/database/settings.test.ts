/** The ramp's connections depend on no setting of the server, the database or the role. */
import { expect, it } from "vitest";
import { atEnd } from "../../support/at-end.js";
import { openDatabase } from "../../../runtime/ramp/database/ramp-database.js";
import { migrate } from "../../../runtime/ramp/database/migrate.js";
import { Vault } from "../../../runtime/ramp/core/vault.js";
import { diagnose, listRecords } from "../../../runtime/ramp/operator/diagnostics.js";
import { startRamp } from "../../../runtime/ramp/start-ramp.js";
import { SERVER } from "../support/server.js";
import {
  call,
  eventually,
  FAST,
  newProject,
  onramp,
  ownDatabase,
  ownSandbox,
  queryAt,
  SECRETS_KEY,
} from "../support/world.js";

/** Each changes what is read or written, or what a statement may do. */
const HOSTILE = {
  DateStyle: "German, DMY",
  IntervalStyle: "sql_standard",
  TimeZone: "Asia/Kathmandu",
  bytea_output: "escape",
  extra_float_digits: "-15",
  standard_conforming_strings: "off",
  array_nulls: "off",
  transform_null_equals: "on",
  row_security: "off",
  default_transaction_isolation: "serializable",
  default_transaction_deferrable: "on",
  lock_timeout: "1",
  statement_timeout: "1000000",
  client_encoding: "LATIN1",
  "ramp.operator": "on",
  "ramp.project_id": "00000000-0000-4000-8000-000000000000",
} as const;

it.each(["Postgres, DMY", "SQL, DMY", "German, DMY"])(
  "under DateStyle %s and other settings that change reading, intents are created at once and completed",
  async (DateStyle) => {
    const url = await ownDatabase();
    const name = new URL(url).pathname.slice(1);
    for (const [setting, value] of Object.entries({ ...HOSTILE, DateStyle }))
      await queryAt(url, `ALTER DATABASE ${name} SET ${setting} = '${value}'`);
    await migrate(url);
    await queryAt(
      url,
      `SET DateStyle = 'ISO'; CREATE SCHEMA hostile;
       CREATE FUNCTION hostile.now() RETURNS timestamptz LANGUAGE sql AS $$ SELECT timestamptz '1999-01-01' $$;
       ALTER DATABASE ${name} SET search_path = hostile, pg_catalog`,
    );
    const sandbox = await ownSandbox();
    await sandbox.set({ settleMs: 50 });
    const ramp = await startRamp({ databaseUrl: url, secretsKey: SECRETS_KEY, ...SERVER, polling: FAST });
    atEnd(() => ramp.stop());
    const database = await openDatabase({ url, onIdleError: () => undefined });
    atEnd(() => database.close());
    const vault = new Vault(SECRETS_KEY);
    const [project, other] = [
      await newProject(database, vault, sandbox),
      await newProject(database, vault, sandbox),
    ];
    const before = Date.now();
    const customer = await call(ramp.url, "POST", "/v1/customers", {
      auth: project.basic,
      body: { id: "Zoë" },
    });
    expect(customer.status, customer.text).toBe(201);
    expect(Math.abs(Date.parse(customer.json.createdAt) - before)).toBeLessThan(60_000);
    const auth = `Bearer ${String(customer.json.accessToken)}`;
    const body = onramp({ autoExecute: true, metadata: { note: "a\\b\u00e9" } });
    const created = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        call(ramp.url, "POST", "/v1/intent", { auth, key: `k${String(n)}`, body }),
      ),
    );
    expect(created.map(({ status }) => status)).toEqual(created.map(() => 201));
    await eventually(
      () => call(ramp.url, "GET", "/v1/intent", { auth }),
      ({ json }) =>
        json.length === 20 &&
        json.every((item: { intent: { status: string } }) => item.intent.status === "COMPLETED"),
    );
    const id = String(created[0]?.json.intent.id);
    const since = new Date(before - 60_000).toISOString();
    const listed = await call(ramp.url, "GET", `/v1/intents?updatedSince=${since}`, { auth: project.basic });
    expect(listed.json).toHaveLength(20);
    expect(listed.json[0].intent.metadata).toEqual({ note: "a\\b\u00e9" });
    expect(Date.parse(listed.json[0].intent.expiredAt)).toBeGreaterThan(before);
    expect((await call(ramp.url, "GET", `/v1/intents/${id}`, { auth: other.basic })).status).toBe(404);
    expect(await database.inProject(other.id, (tx) => tx.rows("SELECT FROM ramp.intents"))).toEqual([]);
    expect((await listRecords(database, "projects")).length).toBe(2);
    expect((await diagnose(database, vault)).filter(({ ok }) => !ok)).toEqual([]);
  },
);
