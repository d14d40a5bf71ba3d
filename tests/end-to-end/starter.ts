import { readFileSync } from "node:fs";
import { join } from "node:path";

/** The starter project's manifest, whose relations are in the test database. */
export function starterManifest(): unknown {
  return JSON.parse(readFileSync(join(import.meta.dirname, "../../templates/starter/manifest.json"), "utf8"));
}
