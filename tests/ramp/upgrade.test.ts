import { copyFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Logger, runMigrations } from "graphile-worker";
import { runner } from "node-pg-migrate";
import { expect, it } from "vitest";
import { migrate, QUEUE_SCHEMA } from "../../runtime/ramp/database/migrate.js";
import { openDatabase } from "../../runtime/ramp/database/ramp-database.js";
import { listProjects } from "../../runtime/ramp/setup/projects.js";
import { ownFolder } from "../support/service.js";
import { ownDatabase, ownerRows } from "./support/world.js";

const MIGRATIONS = fileURLToPath(new URL("../../runtime/ramp/migrations/", import.meta.url));
const FILES = readdirSync(MIGRATIONS).sort();
const ID = "00000000-0000-4000-8000-000000000001";

/** A database as a Routewright left it that knew these migrations only, with a project in it. */
async function databaseOf(files: readonly string[]): Promise<string> {
  const [url, folder] = [await ownDatabase(), ownFolder()];
  for (const file of files) copyFileSync(join(MIGRATIONS, file), join(folder, file));
  await runMigrations({
    connectionString: url,
    schema: QUEUE_SCHEMA,
    logger: new Logger(() => () => undefined),
  });
  await runner({
    databaseUrl: url,
    dir: folder,
    direction: "up",
    migrationsSchema: "ramp",
    createMigrationsSchema: true,
    migrationsTable: "migrations",
    log: () => undefined,
  });
  await ownerRows(url, "INSERT INTO ramp.organizations (id, name) VALUES ($1, 'Acme')", [ID]);
  await ownerRows(
    url,
    "INSERT INTO ramp.projects (id, organization_id, name, client_id, page_origins) VALUES ($1, $1, 'Shop', 'c', '{https://shop.example}')",
    [ID],
  );
  return url;
}

// Every earlier version that a database may be of: one per migration but the last.
it.each(FILES.slice(0, -1).map((file, i) => [file, i + 1] as const))(
  "a database of the version that ended with %s is brought to the newest, and keeps its rows",
  async (_, count) => {
    const url = await databaseOf(FILES.slice(0, count));
    expect((await migrate(url)).map((name) => `${name}.sql`)).toEqual(FILES.slice(count));
    expect(await migrate(url)).toEqual([]);
    const database = await openDatabase({ url, onIdleError: () => undefined });
    try {
      expect(await listProjects(database)).toMatchObject([{ projectId: ID, name: "Shop" }]);
    } finally {
      await database.close();
    }
  },
);

it("no migration goes back: an older Routewright changes nothing in a newer database", async () => {
  const url = await databaseOf(FILES);
  await ownerRows(url, "INSERT INTO ramp.migrations (name, run_on) VALUES ('9999_future', now())");
  const before = await ownerRows(url, "SELECT name FROM ramp.migrations ORDER BY name");
  expect(await migrate(url)).toEqual([]);
  expect(await ownerRows(url, "SELECT name FROM ramp.migrations ORDER BY name")).toEqual(before);
});
