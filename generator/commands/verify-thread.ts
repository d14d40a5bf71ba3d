/**
 * The thread in which a server that has started compares its relations with the database: thousands of them take a second.
 * Relations and columns only, without the plans of filters; each difference is a warning that the server logs. It imports
 * nothing of the server, whose modules it would load once more.
 */
import { parentPort, workerData } from "node:worker_threads";
import type { Environment } from "@routewright/runtime/server";
import { readRevision } from "../diff/revision.js";
import { plainText } from "../report/report.js";
import { clickhouseAddress } from "@routewright/runtime/model";
import { postgresRelations, verifyRelations } from "../verify/relations.js";
import { queryDatabase, readClickhouse } from "./database.js";

/** What a server serves, and from where. */
export interface ServedCatalogue extends Pick<Environment, "defaultTier"> {
  readonly generated: string;
  readonly databaseUrl: string;
}

/** A warning for the log: its fields, and its message. */
export type LoggedWarning = readonly [fields: Readonly<Record<string, unknown>>, message: string];

/** Differences that the log gets at most. */
const MAX_LOGGED = 50;

await findDifferences(workerData as ServedCatalogue);

async function findDifferences(served: ServedCatalogue): Promise<void> {
  const { generated, databaseUrl, defaultTier } = served;
  const revision = await readRevision(generated, { defaultTier, generated, cwd: process.cwd() });
  if (!revision.ok) return warn({ detail: revision.problem }, "not verified");
  const { catalogue } = revision;
  const clickhouse = clickhouseAddress(databaseUrl);
  const found =
    clickhouse === null
      ? await queryDatabase(databaseUrl, (query) => verifyRelations(catalogue, postgresRelations(query)))
      : await readClickhouse(clickhouse, (read) => verifyRelations(catalogue, read));
  if (!found.ok) return warn({ detail: found.problem }, "not verified");
  for (const { check, endpoint, message, hint } of found.value.slice(0, MAX_LOGGED))
    warn({ check, endpoint, detail: plainText(message), hint: plainText(hint) }, "verify");
  const left = found.value.length - MAX_LOGGED;
  if (left > 0) warn({ left }, "verify: there are more, run `routewright verify`");
}

function warn(...warning: LoggedWarning): void {
  parentPort?.postMessage(warning);
}
