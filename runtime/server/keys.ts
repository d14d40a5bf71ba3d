/** API keys, for the command line. */
import { postgresAddressProblem } from "../core/model/postgres-address.js";
import type { Plans } from "../core/model/organization-plan.js";
import { EnvironmentKeys } from "./accounts/key-entries.js";
import { KeyFile } from "./accounts/key-file.js";
import type { KeyStore } from "./accounts/key-store.js";
export { KeyFile } from "./accounts/key-file.js";
export type { KeyOwner, KeyStore, NewKey, Rotation, StoredKey } from "./accounts/key-store.js";
export type { NewOrganization, Organization, Organizations } from "./accounts/organizations.js";

/** Where keys may lie: the first of these that is named. */
export interface KeySources {
  /** A file that wins over all others. */
  readonly file?: string | undefined;
  /** A `postgres://` address. Its libraries are loaded with it. */
  readonly databaseUrl?: string | undefined;
  /** The text of `API_KEYS`. */
  readonly inline?: string | undefined;
  readonly defaultFile: string;
  /** How many keys organizations of the database may have. */
  readonly plans?: Plans;
}

/** The store in which a server with these settings looks first. Rejects where the database cannot be reached. */
export async function openKeyStore({
  file,
  databaseUrl,
  inline,
  defaultFile,
  plans,
}: KeySources): Promise<KeyStore> {
  if (file !== undefined) return new KeyFile(file);
  if (databaseUrl) {
    const problem = postgresAddressProblem(databaseUrl);
    if (problem !== null) throw new Error(`must be ${problem.replace(/\.$/, "")}.`);
    const { KeyDatabase } = await import("./accounts/key-database.js");
    return KeyDatabase.open(databaseUrl, plans);
  }
  return inline ? new EnvironmentKeys(inline) : new KeyFile(defaultFile);
}

/** The use of organizations in a database of keys, as text; `since`: a day in UTC. Rejects where the database cannot be read. */
export async function meteringText(
  databaseUrl: string,
  since: string | null,
  format: "csv" | "json" | "cloudevents",
): Promise<{ readonly text: string; readonly rows: number }> {
  const problem = postgresAddressProblem(databaseUrl);
  if (problem !== null) throw new Error(`must be ${problem.replace(/\.$/, "")}.`);
  const { readMetered } = await import("./accounts/metering.js");
  const { cloudEvent, csvOf } = await import("./accounts/metering-formats.js");
  const use = await readMetered(databaseUrl, since);
  if (format === "csv") return { text: csvOf(use), rows: use.length };
  if (format === "json") return { text: listOf(use), rows: use.length };
  // An open hour would be another event with the same identifier.
  const closed = use.filter((each) => each.closed);
  return { text: listOf(closed.map(cloudEvent)), rows: closed.length };
}

/** A record on each line: there may be a million. */
function listOf(records: readonly object[]): string {
  return `[\n${records.map((record) => JSON.stringify(record)).join(",\n")}\n]\n`;
}
