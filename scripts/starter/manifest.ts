/** Writes `templates/starter/manifest.json` from the one that dbt wrote to `target/`: templates/starter/README.md. */
import { readFile, writeFile } from "node:fs/promises";
import { type JsonObject, slimManifest } from "./slim.js";

const inStarter = (file: string): URL => new URL(`../../templates/starter/${file}`, import.meta.url);

const built = JSON.parse(await readFile(inStarter("target/manifest.json"), "utf8")) as JsonObject;
await writeFile(inStarter("manifest.json"), slimManifest(built));
