import { readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ownInstallation } from "../support/service.js";

/** The starter project's manifest, whose relations are in the test database. */
export function starterManifest(): unknown {
  return JSON.parse(readFileSync(join(import.meta.dirname, "../../templates/starter/manifest.json"), "utf8"));
}

/** A repository with the starter's generated folder, in which a client for it can be written, compiled and run. */
export function starterRepository(): string {
  const folder = ownInstallation(starterManifest());
  writeFileSync(join(folder, "package.json"), '{"type": "module"}');
  symlinkSync(join(import.meta.dirname, "../../node_modules"), join(folder, "node_modules"));
  return folder;
}
