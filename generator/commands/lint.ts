import { Option } from "commander";
import { catalogueOf } from "../catalogue/build.js";
import { DEFAULTS, type Settings } from "../config.js";
import { compareCatalogues } from "../diff/compare-catalogues.js";
import { type MissingBase, readRevision } from "../diff/revision.js";
import { FAIL_ON, type Finding, type LintFailOn, type RuleSeverities, shouldFail } from "../lint/finding.js";
import { lint as lintManifest } from "../lint/linter.js";
import { readModels } from "../manifest/catalog.js";
import type { Manifest } from "../manifest/manifest.js";
import { type Failure, projectInRepository } from "../manifest/source.js";
import { lintReport } from "../report/lint-report.js";
import { renderReport } from "../report/render-report.js";
import { type Format, FORMATS } from "../report/report.js";
import { type CliCommand, type CommandResult, EXIT, failure, OPTIONS, withManifest } from "./command.js";

export interface LintOptions
  extends Pick<Settings, "defaultTier">, Partial<Pick<Settings, "catalog" | "schemas">> {
  /** File or http(s) address of dbt's manifest.json. */
  readonly manifest: string;
  readonly format: Format;
  readonly failOn: LintFailOn;
  readonly severities?: RuleSeverities;
  /** `YYYY-MM-DD`: sunsets are judged by it. */
  readonly today: string;
  /** A revision as `diff` takes it: findings that it has too are not reported. */
  readonly base?: string | undefined;
  /** `ignore`: without a base every finding counts as known. */
  readonly missingBase?: MissingBase;
  /** The generated folder that a base `git:<ref>` means. */
  readonly generated?: string;
  readonly cwd?: string;
}

type Flags = Pick<LintOptions, "format" | "failOn"> &
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
    .helpEnd(["lint", "lint --fail-on error --base git:origin/main   # in CI: new findings only"], {
      1: "findings of --fail-on",
    });
}

/** `routewright lint`: what in a manifest will trouble consumers or operators of its API. */
export async function lint(options: LintOptions): Promise<CommandResult> {
  const reading = await readModels(options.manifest, options.catalog);
  if (!reading.ok) return failure(reading.problem);
  const { manifest } = reading;
  const result = lintManifest(manifest, options);
  const known = options.base === undefined ? null : await knownIn(options.base, manifest, options);
  if (known?.ok === false) return failure(known.problem);
  const findings =
    known === null ? result.findings : result.findings.filter((finding) => !known.isKnown(finding));
  const failed = shouldFail(findings, options.failOn);
  const outcome = { ...result, findings, failed, known: known && result.findings.length - findings.length };
  return {
    exit: failed ? EXIT.findings : EXIT.ok,
    output: renderReport(
      { ...lintReport(outcome), project: projectInRepository(options.manifest) },
      options.format,
    ),
    notes: [...manifest.warnings, ...(known?.warnings ?? [])].map((warning) => `warning: ${warning}`),
  };
}

type Known =
  | {
      readonly ok: true;
      readonly isKnown: (finding: Finding) => boolean;
      readonly warnings?: readonly string[];
    }
  | Failure;

/**
 * Which findings the base has too: those at endpoints without a change since, of models that were skipped for the same
 * problem, and forgotten tags unless the model had an endpoint.
 */
async function knownIn(base: string, head: Manifest, options: LintOptions): Promise<Known> {
  const { defaultTier, schemas = {}, generated = "generated", cwd = process.cwd() } = options;
  const revision = await readRevision(base, { defaultTier, schemas, generated, cwd });
  if (!revision.ok)
    return revision.isMissing && options.missingBase === "ignore"
      ? { ok: true, isKnown: () => true, warnings: [`${revision.problem} Every finding counts as known.`] }
      : revision;
  const { entries, skipped } = revision.catalogue;
  const sunsetPolicy = { today: "1970-01-01", minimumNoticeDays: DEFAULTS.minimumNoticeDays };
  const changes = compareCatalogues(
    revision.catalogue,
    catalogueOf(head, { defaultTier, schemas }),
    sunsetPolicy,
  );
  const changed = new Set(changes.flatMap(({ endpoint, after }) => [endpoint, after]));
  const models = new Set(entries.map(({ uniqueId }) => uniqueId));
  const problems = skipped.flatMap((one) => one.problems);
  const known = new Set(problems.map((problem) => identityOf({ rule: "skipped-model", ...problem })));
  return {
    ok: true,
    isKnown: (finding) => {
      if (finding.rule === "forgotten-tag") return !models.has(finding.model);
      return finding.endpoint === null ? known.has(identityOf(finding)) : !changed.has(finding.endpoint);
    },
  };
}

/** What makes two findings of two runs the same: a message may count something that has grown. */
function identityOf({ rule, model, path }: Pick<Finding, "rule" | "model" | "path">): string {
  return JSON.stringify([rule, model, path]);
}
