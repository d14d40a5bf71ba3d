import type { Command } from "commander";
import type { Outcome } from "../commands/outcome.js";
import { manifestOption, withManifest } from "./manifest.js";
import type { Then } from "./then.js";

interface GenerateFlags {
  readonly manifest?: string;
  readonly catalog?: string;
  readonly out: string;
  readonly check: boolean;
  readonly strict: boolean;
  readonly json: boolean;
  readonly allowEmpty: boolean;
}

export function addGenerate(command: Command, then: Then): void {
  command
    .description("write handlers and OpenAPI for every published model")
    .addOption(manifestOption())
    .option("--catalog <file or URL>", "dbt's catalog.json, for columns and types that no schema.yml lists")
    .option("--out <folder>", "the generated folder", "generated")
    .option("--check", "write nothing; exit 1 when the folder is not up to date", false)
    .option("--strict", "exit 1 when a model is skipped with a problem", false)
    .option("--json", "report as JSON", false)
    .option("--allow-empty", "write even if the manifest publishes no endpoint any more", false)
    .action((flags: GenerateFlags) => then(startGenerate(flags)));
}

function startGenerate(flags: GenerateFlags): Promise<Outcome> {
  return withManifest(flags.manifest, process.env, async (manifest, { defaultTier, apiTitle: title }) => {
    const { generate } = await import("../commands/generate.js");
    return generate({ ...flags, manifest, defaultTier, title });
  });
}
