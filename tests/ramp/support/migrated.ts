import pg from "pg";
import { migrate } from "../../../runtime/ramp/database/migrate.js";
import { databaseUrl, ownDatabase } from "../../support/database.js";

/** Of a run of tests (`tests/support/global-setup.ts`, which drops it): the migrations take a second of a processor, a copy a tenth. */
const TEMPLATE = process.env["TEST_RAMP_TEMPLATE"] ?? "test_ramp";
/** Advisory lock of the process that makes it. Any constant. */
const TEMPLATE_LOCK = 7_262_002;

const at = (name: string): string => Object.assign(new URL(databaseUrl), { pathname: `/${name}` }).href;

let template: Promise<string> | undefined;

/** A database of a test's or a test file's own with the ramp's newest tables, dropped at the end. */
export async function migratedDatabase(): Promise<string> {
  return ownDatabase(await (template ??= madeTemplate()));
}

/** Of all workers the first one makes it. */
async function madeTemplate(): Promise<string> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query("SELECT pg_advisory_lock($1)", [TEMPLATE_LOCK]);
    const { rowCount } = await client.query("SELECT FROM pg_database WHERE datname = $1", [TEMPLATE]);
    if (rowCount === 0) {
      // Under another name until it is whole.
      const unfinished = `${TEMPLATE}_unfinished`;
      await client.query(`DROP DATABASE IF EXISTS ${unfinished}`);
      await client.query(`CREATE DATABASE ${unfinished}`);
      await migrate(at(unfinished));
      await client.query(`ALTER DATABASE ${unfinished} RENAME TO ${TEMPLATE}`);
    }
    return at(TEMPLATE);
  } finally {
    await client.end();
  }
}
