import { existsSync } from "node:fs";
import { Option } from "commander";
import { DEFAULTS } from "../config.js";
import {
  ACCEPT_FILE,
  applyAcceptFile,
  FAIL_ON,
  type FailOn,
  type ParsedAcceptFile,
  readAcceptFile,
  shouldFail,
} from "../diff/accepted-changes.js";
import { compareCatalogues, type SeverityOverrides } from "../diff/compare-catalogues.js";
import { type MissingBase, readRevision, type RevisionOptions } from "../diff/revision.js";
import { projectInRepository, redactedLocation } from "../manifest/source.js";
import { diffReport } from "../report/diff-report.js";
import { renderReport } from "../report/render-report.js";
import { type Format, FORMATS } from "../report/report.js";
import { type CliCommand, type CommandResult, EXIT, failure, OPTIONS, withSettings } from "./command.js";

export interface DiffOptions extends RevisionOptions {
  /** Revisions as `readRevision` takes them. */
  readonly base: string;
  readonly head: string;
  readonly format: Format;
  readonly failOn: FailOn;
  /** dbt's manifest as the config file names it: it says where models lie in the repository. */
  readonly manifest?: string | null;
  /** `ignore`: a base that does not exist yet has nothing to compare. */
  readonly missingBase?: MissingBase;
  /** The accept file; it must exist when it is named. */
  readonly accept?: string | undefined;
  readonly severities?: SeverityOverrides;
  readonly minimumNoticeDays?: number;
  /** `YYYY-MM-DD`: sunsets are judged by it. */
  readonly today: string;
}

type Flags = Pick<DiffOptions, "format" | "failOn" | "accept" | "catalog"> & {
  readonly missingBase: MissingBase;
  readonly generated?: string;
};

export function configure(command: CliCommand): void {
  command
    .argument("<base>", "a manifest (file or URL), a generated folder, or git:<ref>")
    .argument("<head>", "likewise")
    .addOption(new Option("--format <format>", "output format").choices(FORMATS).default("text"))
    .addOption(new Option("--fail-on <changes>", "exit 1 at these").choices(FAIL_ON).default("breaking"))
    .addOption(OPTIONS.missingBase())
    .addOption(OPTIONS.generated())
    .option(
      "--accept <file>",
      `accepted changes (default: \`diff.accept\` of the config file, or ${ACCEPT_FILE} if there is one)`,
    )
    .addOption(OPTIONS.catalog())
    .runs((base: string, head: string, flags: Flags) =>
      withSettings(flags, (settings) =>
        diff({
          ...flags,
          ...settings,
          base,
          head,
          generated: settings.out,
          today: new Date().toISOString().slice(0, 10),
          cwd: process.cwd(),
        }),
      ),
    )
    .helpEnd(
      ["diff git:origin/main generated", "diff old/manifest.json target/manifest.json --format markdown"],
      { 1: "changes of --fail-on that are not accepted" },
    );
}

/** `routewright diff`: the changes that consumers of the base see in the head. */
export async function diff(options: DiffOptions): Promise<CommandResult> {
  const { failOn, today, minimumNoticeDays = DEFAULTS.minimumNoticeDays } = options;
  const acceptFile = options.accept ?? ACCEPT_FILE;
  const [read, head, accept] = await Promise.all([
    readRevision(options.base, options),
    readRevision(options.head, options),
    readAccept(options.accept, acceptFile),
  ]);
  const isIgnored = !read.ok && read.isMissing && options.missingBase === "ignore" && head.ok;
  const base = isIgnored ? { ...head, warnings: [`${read.problem} Nothing was compared.`] } : read;
  if (!base.ok || !head.ok || !accept.ok) {
    const revisions = [base, head].flatMap((reading) => (reading.ok ? [] : [reading.problem]));
    return failure(...new Set([...revisions, ...(accept.ok ? [] : accept.problems)]));
  }
  const changes = compareCatalogues(
    base.catalogue,
    head.catalogue,
    { today, minimumNoticeDays },
    options.severities,
  );
  const result = applyAcceptFile(changes, accept.entries, today);
  const failed = shouldFail(result, failOn);
  const names = {
    base: redactedLocation(options.base),
    head: redactedLocation(options.head),
    acceptFile,
  };
  const project = projectInRepository(options.manifest ?? null);
  const report = { ...diffReport({ ...result, ...names, failed }), project };
  return {
    exit: failed ? EXIT.findings : EXIT.ok,
    output: renderReport(report, options.format),
    notes: [...base.warnings, ...head.warnings].map((warning) => `warning: ${warning}`),
  };
}

/** The accept file that is named must exist. */
async function readAccept(named: string | undefined, file: string): Promise<ParsedAcceptFile> {
  if (named !== undefined && !existsSync(named)) return { ok: false, problems: [`No accept file ${named}.`] };
  return readAcceptFile(file);
}
