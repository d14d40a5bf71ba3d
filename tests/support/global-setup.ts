import { fileURLToPath } from "node:url";
import { buildDemoRelations } from "../../scripts/demo/relations.js";
import { startEmbeddedPostgres } from "../../runtime/embedded/embedded-postgres.js";

const inRoot = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));

/**
 * Brings up the real PostgreSQL that tests run against, with the starter's relations in it: the embedded one, kept in
 * `.data/test` so that only the first run pays for it, or the one that `TEST_DATABASE_URL` names.
 */
export default async function setup(): Promise<() => Promise<void>> {
  const named = process.env["TEST_DATABASE_URL"];
  const embedded =
    named === undefined ? await startEmbeddedPostgres({ dataDir: inRoot(".data/test") }) : null;
  const url = named ?? embedded?.url ?? "";
  process.env["TEST_DATABASE_URL"] = url;
  await buildDemoRelations(url, inRoot("templates/starter"));
  return async () => embedded?.stop();
}
