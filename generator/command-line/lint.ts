import { type Command, Option } from "commander";
import type { Outcome } from "../commands/outcome.js";
import { FAIL_ON, type FailOn } from "../lint/options.js";
import { type Format, FORMATS } from "../report/format.js";
import { manifestOption, withManifest } from "./manifest.js";
import type { Then } from "./then.js";

interface LintFlags {
  readonly manifest?: string;
  readonly catalog?: string;
  readonly format: Format;
  readonly failOn: FailOn;
  readonly privateKey: readonly string[];
}

export function addLint(command: Command, then: Then): void {
  command
    .description("tell what in a manifest will trouble consumers of its API")
    .addOption(manifestOption())
    .option("--catalog <file or URL>", "dbt's catalog.json, for columns and types that no schema.yml lists")
    .addOption(new Option("--format <format>", "how to tell it").choices(FORMATS).default("text"))
    .addOption(new Option("--fail-on <findings>", "exit 1 at these").choices(FAIL_ON).default("any"))
    .option(
      "--private-key <meta key>",
      "a key of `meta` that marks private data; may be repeated",
      repeated,
      [],
    )
    .action((flags: LintFlags) => then(startLint(flags)));
}

function repeated(value: string, earlier: readonly string[]): readonly string[] {
  return [...earlier, value];
}

function startLint(flags: LintFlags): Promise<Outcome> {
  return withManifest(flags.manifest, process.env, async (manifest, { defaultTier }) => {
    const { lint } = await import("../commands/lint.js");
    return lint({ ...flags, manifest, defaultTier });
  });
}
