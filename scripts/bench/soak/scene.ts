import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import type { Server } from "../children.js";
import { KEYS } from "../contestants.js";
import { SCHEMA, syntheticManifest } from "../synthetic-manifest.js";
import { LONG_PATH } from "./mix.js";

/** Endpoints beside the one of the long table. */
export const ENDPOINTS = 500;
const LONG_ROWS = 20_000;

/** Makes the table that is too long for one piece. */
export async function addLongTable(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(
      `CREATE TABLE ${SCHEMA}.long AS SELECT i AS id, md5(i::text) AS label FROM generate_series(1, ${String(LONG_ROWS)}) i`,
    );
  } finally {
    await client.end();
  }
}

/** Writes the manifest of a round: some of the last endpoints come and go, and a description changes. */
function publish(api: string, round: number): void {
  const manifest = syntheticManifest(ENDPOINTS - (round % 50)) as {
    nodes: Record<string, Record<string, unknown>>;
  };
  const [, model] = Object.entries(manifest.nodes)[round % 100] ?? [];
  if (model) model["description"] = `Round ${String(round)}.`;
  const tags = ["production", "soak", "api:long"];
  const id = "model.bench.long";
  const long = {
    resource_type: "model",
    unique_id: id,
    name: "long",
    schema: SCHEMA,
    tags,
    config: { tags },
  };
  const text = JSON.stringify({ ...manifest, nodes: { ...manifest.nodes, [id]: { ...long, columns: {} } } });
  writeFileSync(join(api, "manifest.tmp"), text);
  renameSync(join(api, "manifest.tmp"), join(api, "manifest.json"));
}

/** Brings the manifest of a round into service. */
export async function refresh({ port }: Server, api: string, round: number): Promise<void> {
  publish(api, round);
  const answer = await fetch(`http://127.0.0.1:${String(port)}/v1/system/manifest/refresh`, {
    method: "POST",
    headers: { "X-API-Key": KEYS[0] ?? "" },
  });
  const { status } = (await answer.json()) as { status: string };
  if (status === "error") throw new Error(`Refresh ${String(round)} failed; is ${LONG_PATH} served?`);
}
