import { mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { timeProgram } from "./children.js";
import { syntheticManifest, VIEWS } from "./synthetic-manifest.js";

/** The command line, as it is installed. */
export const ROUTEWRIGHT = resolve("generator/bin/routewright.js");

/** A folder of a synthetic API: `manifest.json` and what Routewright generates of it, kept from run to run. */
export async function apiFolder(parent: string, endpoints: number, views = VIEWS): Promise<string> {
  const folder = join(parent, `endpoints-${String(endpoints)}-${String(views)}`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "manifest.json"), JSON.stringify(syntheticManifest(endpoints, views)));
  const args = [ROUTEWRIGHT, "generate", "--manifest", "manifest.json", "--out", "generated"];
  await timeProgram({ name: "generate", args, folder });
  return folder;
}
