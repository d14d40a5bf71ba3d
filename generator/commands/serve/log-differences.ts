import type { createLogger } from "@routewright/runtime/server";
import { adapterNotice, clickhouseAddress } from "@routewright/runtime/model";
import { readCatalogueIn } from "../../catalogue/catalogue-file.js";
import { plainText } from "../../report/report.js";
import { verifyRelations } from "../../verify/relations.js";
import { inspectDatabase } from "../database.js";

/** Differences that the log of a server gets at most. */
const MAX_LOGGED = 50;

/** Logs where the database of a server that has started differs: relations and columns only, without the plans of filters. */
export async function logDifferences(
  generated: string,
  databaseUrl: string,
  log: ReturnType<typeof createLogger>,
): Promise<void> {
  const reading = readCatalogueIn(generated);
  // It was there when the server read it.
  if (reading === null) return;
  if (!reading.ok) return log.error({ detail: reading.problems.join(" ") }, "not verified");
  const catalogue = reading.value;
  const notice = adapterNotice(catalogue.adapter);
  if (notice !== null) log.warn(notice);
  const clickhouse = clickhouseAddress(databaseUrl);
  const found = await inspectDatabase({ databaseUrl, clickhouse }, ({ readRelations }) =>
    verifyRelations(catalogue, readRelations),
  );
  if (!found.ok) return log.error({ detail: found.problems.join(" ") }, "not verified");
  for (const { rule: check, endpoint, message, hint } of found.value.slice(0, MAX_LOGGED))
    log.warn({ check, endpoint, detail: plainText(message), hint: plainText(hint) }, "verify");
  const left = found.value.length - MAX_LOGGED;
  if (left > 0) log.warn({ left }, "verify: there are more, run `routewright verify`");
}
