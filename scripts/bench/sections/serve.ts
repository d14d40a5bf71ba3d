import { join } from "node:path";
import type { Server } from "../children.js";
import { startBaseline, startRoutewright } from "../contestants.js";
import { openDatabase, type Database } from "../database.js";
import { Load } from "../load/load.js";
import type { Findings } from "../report.js";
import { VIEWS } from "../synthetic-manifest.js";
import { compareSizes, type Size } from "./routes.js";
import { compareServers, ENDPOINTS } from "./rows.js";
import type { Setting } from "./section.js";

const FEW = 10;
const VERY_MANY = 10_000;

/** Requests a second: Routewright beside plain servers, and Routewright by number of endpoints. */
export async function serve(setting: Setting): Promise<Findings> {
  setting.progress("serve: starting the database and the servers");
  const database = await openDatabase(join(setting.folder, "database"));
  const load = new Load();
  const started: Server[] = [];
  try {
    return await measure(setting, database, load, (server) => (started.push(server), server));
  } finally {
    load.stop();
    await Promise.all(started.map((server) => server.stop()));
    await database.stop();
  }
}

async function measure(
  setting: Setting,
  database: Database,
  load: Load,
  keep: (server: Server) => Server,
): Promise<Findings> {
  const { folder } = setting;
  const routewright = keep(await startRoutewright(folder, database, ENDPOINTS));
  const bare = keep(await startBaseline("bare", folder, database, ENDPOINTS));
  const express = keep(await startBaseline("express", folder, database, ENDPOINTS));
  const byRows = await compareServers({ bare, express, routewright }, load, setting);
  await Promise.all([bare.stop(), express.stop(), routewright.stop()]);
  setting.progress(`serve: generating and starting ${String(VERY_MANY)} endpoints`);
  const size = async (endpoints: number, views: number): Promise<Size> => ({
    endpoints,
    views,
    server: keep(await startRoutewright(folder, database, endpoints, { views })),
  });
  const few = await size(FEW, FEW);
  const many = await size(VERY_MANY, FEW);
  const varied = await size(VERY_MANY, VIEWS);
  const bySize = await compareSizes({ few, many, varied }, load, setting);
  return { tables: [...byRows.tables, ...bySize.tables], bars: [...byRows.bars, ...bySize.bars] };
}
