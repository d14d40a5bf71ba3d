import { fileURLToPath } from "node:url";
import { EVENTS_SCHEMA } from "../events/operator-events.js";

/** The build does not copy the SQL files: the compiled program reads them from the source folder. */
const KEYS_SCHEMA = {
  name: "routewright_keys",
  folder: fileURLToPath(
    new URL(
      import.meta.url.includes("/dist/") ? "../../../server/accounts/migrations" : "./migrations",
      import.meta.url,
    ),
  ),
};

/** Brings the schema of the keys to this version; with `isOfOwner` also that of events, which changes of keys record. */
export async function migrateKeys(databaseUrl: string, isOfOwner = false): Promise<void> {
  const { migrateSchemas } = await import("../../postgres/own-schema.js");
  const schemas = isOfOwner ? [KEYS_SCHEMA, EVENTS_SCHEMA] : [KEYS_SCHEMA];
  await migrateSchemas(databaseUrl, schemas, "keys in a database");
}

/** The last one of the years that four digits write. */
export const LAST_TIME = Date.parse("9999-12-31T23:59:59Z");

/** PostgreSQL reads no other years in this form. What ended before 1970 has ended. */
export function storableTime(milliseconds: number | null): string | null {
  if (milliseconds === null) return null;
  return new Date(Math.min(Math.max(milliseconds, 0), LAST_TIME)).toISOString();
}
