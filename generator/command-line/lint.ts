import { type Command, Option } from "commander";
import { EXIT, type Outcome } from "../commands/outcome.js";
import { FAIL_ON, type FailOn } from "../lint/finding.js";
import { type Format, FORMATS } from "../report/report.js";
import { manifestOption, withManifest } from "./manifest.js";
import type { Then } from "./then.js";

interface LintFlags {
  readonly manifest?: string;
  readonly catalog?: string;
  readonly format: Format;
  readonly failOn: FailOn;
  readonly privateKey: readonly string[];
  readonly base?: string;
  readonly generated: string;
}

export function addLint(command: Command, then: Then): void {
  command
    .description("report what will trouble consumers or operators of the API")
    .addOption(manifestOption())
    .option("--catalog <file or URL>", "dbt's catalog.json, for columns and types that no schema.yml lists")
    .addOption(new Option("--format <format>", "output format").choices(FORMATS).default("text"))
    .addOption(new Option("--fail-on <findings>", "exit 1 at these").choices(FAIL_ON).default("warning"))
    .option(
      "--private-key <meta key>",
      "a key of `meta` that marks private data; may be repeated",
      repeated,
      [],
    )
    .option("--base <revision>", "report only findings that are new since it: as for diff")
    .option("--generated <folder>", "the generated folder that a base git:<ref> means", "generated")
    .action((flags: LintFlags) => then(startLint(flags)));
}

function repeated(value: string, earlier: readonly string[]): readonly string[] {
  return [...earlier, value];
}

function startLint(flags: LintFlags): Promise<Outcome> {
  return withManifest(flags.manifest, process.env, async (manifest, { defaultTier }) => {
    const [{ lint }, { terminalOf }, { loadPolicy }] = await Promise.all([
      import("../commands/lint.js"),
      import("../report/render.js"),
      import("../policy.js"),
    ]);
    const reading = await loadPolicy();
    if (!reading.ok) return { exit: EXIT.error, errors: reading.problems };
    const terminal = terminalOf(process.stdout, process.env);
    return lint({ ...flags, manifest, defaultTier, severities: reading.policy.lint, terminal });
  });
}
