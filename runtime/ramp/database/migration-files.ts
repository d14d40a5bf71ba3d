import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The build does not copy the SQL files: the compiled program reads them from the source folder. */
export const MIGRATIONS = fileURLToPath(
  new URL(import.meta.url.includes("/dist/") ? "../../database/migrations" : "./migrations", import.meta.url),
);

/** Name of the newest migration of this version. */
export const newestMigration = (): string =>
  readdirSync(MIGRATIONS)
    .sort()
    .at(-1)
    ?.replace(/\.sql$/, "") ?? "";
