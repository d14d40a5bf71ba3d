import { existsSync } from "node:fs";
import { Option } from "commander";
import type { ArtifactLocations } from "../artifacts/artifacts.js";
import type { Settings } from "../config.js";
import { knownIn } from "./lint-base.js";
import { applyBaseline, BASELINE_FILE, baselineText, readBaseline, staleFindings } from "../lint/baseline.js";
import { FAIL_ON, type FailOn, shouldFail } from "../report/finding.js";
import { inOrder, type ModelFinding, type RuleSeverities } from "../lint/checks.js";
import { lint as lintManifest } from "../lint/linter.js";
import { readModels } from "../manifest/catalog.js";
import { projectInRepository } from "../artifacts/source.js";
import { writeFiles } from "../output/replace-file.js";
import { lintReport } from "../lint/lint-report.js";
import { renderReport } from "../report/render-report.js";
import { counted, type Format, FORMATS } from "../report/report.js";
import {
  type CliCommand,
  type CommandResult,
  EXIT,
  failure,
  type MissingBase,
  OPTIONS,
  withManifest,
} from "./command.js";

export interface LintOptions
  extends
    ArtifactLocations,
    Pick<Settings, "defaultTier">,
    Partial<Pick<Settings, "schemas" | "engine" | "publicMaxAge" | "publish">> {
  readonly format: Format;
  readonly failOn: FailOn;
  readonly severities?: RuleSeverities;
  /** `YYYY-MM-DD`: sunsets are judged by it. */
  readonly today: string;
  /** File of findings that the repository had when it was written; default: `BASELINE_FILE`. */
  readonly baseline?: string | undefined;
  /** Writes the baseline instead of judging the findings; `shrink`: only takes away what is no longer found. */
  readonly writeBaseline?: boolean;
  readonly shrink?: boolean;
  /** A revision as `diff` takes it: findings that it has too are not reported. */
  readonly base?: string | undefined;
  /** `ignore`: without a base every finding counts as known. */
  readonly missingBase?: MissingBase;
  /** The generated folder that a base `git:<ref>` means. */
  readonly generated?: string;
  readonly cwd?: string;
}

type Flags = Pick<LintOptions, "format" | "failOn" | "writeBaseline" | "shrink"> &
  Partial<Pick<LintOptions, "manifest" | "catalog" | "base" | "generated">> & {
    readonly missingBase: MissingBase;
  };

export function configure(command: CliCommand): void {
  command
    .addOption(OPTIONS.manifest())
    .addOption(OPTIONS.catalog())
    .addOption(new Option("--format <format>", "output format").choices(FORMATS).default("text"))
    .addOption(new Option("--fail-on <findings>", "exit 1 at these").choices(FAIL_ON).default("warning"))
    .option("--base <revision>", "report only findings that are new since it: as for diff")
    .addOption(OPTIONS.missingBase())
    .addOption(OPTIONS.generated())
    .option("--write-baseline", `accept today's findings in \`lint.baseline\` (${BASELINE_FILE})`, false)
    .option("--shrink", "with --write-baseline: only remove entries that match no finding any more", false)
    .runs((flags: Flags) =>
      withManifest(flags, (settings) =>
        lint({
          ...flags,
          ...settings,
          severities: settings.lint,
          generated: settings.out,
          today: new Date().toISOString().slice(0, 10),
        }),
      ),
    )
    .helpEnd(
      [
        "lint",
        "lint --fail-on error --base git:origin/main   # in CI: new findings only",
        "lint --write-baseline",
      ],
      { 1: "findings of --fail-on" },
    );
}

/** `routewright lint`: what in a manifest will trouble consumers or operators of its API. */
export async function lint(options: LintOptions): Promise<CommandResult> {
  const file = options.baseline ?? BASELINE_FILE;
  const [reading, baseline] = await Promise.all([readModels(options), readBaseline(file)]);
  if (!reading.ok) return failure(...reading.problems);
  if (!baseline.ok) return failure(...baseline.problems);
  const manifest = reading.value;
  const result = lintManifest(manifest, options);
  const { unknown, accepted, stale } = applyBaseline(result.findings, baseline.value);
  if (options.writeBaseline === true || options.shrink === true)
    return writeBaseline(options, file, options.shrink === true ? accepted : result.findings);
  const remaining = [...unknown, ...staleFindings(stale, file, options.severities)].sort(inOrder);
  const known = options.base === undefined ? null : await knownIn(options.base, manifest, options);
  if (known?.ok === false) return failure(...known.problems);
  const findings =
    known === null
      ? remaining
      : [...remaining.filter((finding) => !known.value.has(finding)), ...known.value.lostMarks].sort(inOrder);
  const failed = shouldFail(findings, options.failOn);
  const outcome = {
    ...result,
    findings,
    failed,
    known: known && remaining.length - findings.length + known.value.lostMarks.length,
    baseline: accepted.length,
  };
  return {
    exit: failed ? EXIT.findings : EXIT.ok,
    output: renderReport(
      { ...lintReport(outcome), project: projectInRepository(options.manifest) },
      options.format,
    ),
    notes: [...manifest.warnings, ...(known?.value.warnings ?? [])].map((warning) => `warning: ${warning}`),
  };
}

/** A baseline is written once; after that it only shrinks. */
function writeBaseline(
  { writeBaseline: isWritten, shrink }: LintOptions,
  file: string,
  findings: readonly ModelFinding[],
): CommandResult {
  const exists = existsSync(file);
  if (isWritten !== true) return failure("--shrink goes with --write-baseline.");
  if (exists && shrink !== true)
    return failure(
      `There is a baseline already, ${file}, and it only shrinks: remove what is no longer found with --shrink. To accept all findings of today, delete it first.`,
    );
  if (!exists && shrink === true) return failure(`There is no baseline ${file} to shrink.`);
  const writing = writeFiles([{ file, text: baselineText(findings) }]);
  if (!writing.ok) return failure(...writing.problems);
  return {
    exit: EXIT.ok,
    isStatus: true,
    output: `${file} accepts ${counted(findings.length, "finding")}. Commit it.\n`,
  };
}
