import { InvalidArgumentError, Option } from "commander";
import {
  failed,
  type Failure,
  groupedBy,
  messageOf,
  type Outcome,
  succeeded,
} from "@routewright/runtime/model";
import type { KeyStore } from "@routewright/runtime/keys";
import type { Catalogue } from "../catalogue/catalogue.js";
import { DEFAULTS } from "../config.js";
import { FAIL_ON, type FailOnChange, shouldFail } from "../diff/accepted-changes.js";
import { CHANGE_KINDS, type ChangeSeverities } from "../diff/change-kinds.js";
import { ACCEPT_FILE, applyAcceptFile, readNamedFile } from "../report/accept-file.js";
import { compareCatalogues } from "../diff/compare-catalogues.js";
import { type Change, inOrder } from "../diff/change.js";
import { comparePlans } from "../diff/compare-plans.js";
import {
  asksUsage,
  firstDay,
  pathsHit,
  rateUnused,
  readUsageFile,
  type UnusedSeverity,
  USAGE_DAYS,
  type UsageVerdict,
  withUsage,
} from "../diff/usage.js";
import { readRevision, type Revision, type RevisionOptions } from "../diff/revision.js";
import { projectInRepository, redactedLocation } from "../artifacts/source.js";
import { diffReport } from "../diff/diff-report.js";
import { renderReport } from "../report/render-report.js";
import { type Format, FORMATS } from "../report/report.js";
import {
  type CliCommand,
  type CommandResult,
  EXIT,
  failure,
  type MissingBase,
  OPTIONS,
  withSettings,
} from "./command.js";

export interface DiffOptions extends RevisionOptions {
  /** Revisions as `readRevision` takes them. */
  readonly base: string;
  readonly head: string;
  readonly format: Format;
  readonly failOn: FailOnChange;
  /** dbt's manifest as the config file names it: it says where models lie in the repository. */
  readonly manifest?: string | null;
  /** `ignore`: a base that does not exist yet has nothing to compare. */
  readonly missingBase?: MissingBase;
  /** The accept file; it must exist when it is named. */
  readonly accept?: string | undefined;
  readonly severities?: ChangeSeverities;
  /** Who breaking changes hit: by a file of `usage --by all --json`, or, where true, by the database that servers write to. */
  readonly usage?: string | true;
  /** How many days of usage count. Default: 30. */
  readonly usageDays?: number;
  /** What becomes of breaking changes that hit nobody. Default: they stay breaking. */
  readonly unused?: UnusedSeverity;
  /** The environment, for the database. */
  readonly variables?: NodeJS.ProcessEnv;
  readonly minimumNoticeDays?: number;
  /** `YYYY-MM-DD`: sunsets are judged by it. */
  readonly today: string;
}

type Flags = Pick<DiffOptions, "format" | "failOn" | "accept" | "catalog" | "usage" | "usageDays"> & {
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
    .addOption(OPTIONS.accept("changes"))
    .option(
      "--usage [file]",
      "say who breaking changes hit: from DATABASE_URL, or a file of `usage --by all --json`",
    )
    .addOption(
      new Option("--usage-days <days>", "with --usage: how many days before today count")
        .argParser(wholeDays)
        .default(USAGE_DAYS),
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
      [
        "diff git:origin/main generated",
        "diff old/manifest.json target/manifest.json --format markdown",
        "diff git:origin/main generated --usage usage.json",
      ],
      { 1: "changes of --fail-on that are not accepted" },
    );
}

/** A year at most: servers keep usage, and a database may hold years of it. */
function wholeDays(text: string): number {
  const days = Number(text);
  if (/^\d{1,3}$/.test(text) && days >= 1 && days <= 366) return days;
  throw new InvalidArgumentError("Write a whole number from 1 to 366.");
}

/** `routewright diff`: the changes that consumers of the base see in the head. */
export async function diff(options: DiffOptions): Promise<CommandResult> {
  const { failOn, today, minimumNoticeDays = DEFAULTS.minimumNoticeDays } = options;
  const acceptFile = options.accept ?? ACCEPT_FILE;
  const [read, head, accept] = await Promise.all([
    readRevision(options.base, options),
    readRevision(options.head, options),
    readNamedFile(options.accept),
  ]);
  const isIgnored = !read.ok && read.isMissing && options.missingBase === "ignore" && head.ok;
  const base = isIgnored ? succeeded(withoutBase(head.value, read)) : read;
  if (!base.ok || !head.ok || !accept.ok) {
    return failure(
      ...new Set([base, head, accept].flatMap((reading) => (reading.ok ? [] : reading.problems))),
    );
  }
  const changes = compareCatalogues(
    base.value.catalogue,
    head.value.catalogue,
    { today, minimumNoticeDays },
    options.severities,
  );
  const plans = await planChanges(base.value.catalogue, head.value.catalogue, options);
  if (!plans.ok) return failure(...plans.problems);
  const rated = await rateByUsage(changes, base.value.catalogue, options);
  if (!rated.ok) return failure(...rated.problems);
  const all = [...rated.value.changes, ...plans.value].sort(inOrder);
  const result = applyAcceptFile(all, accept.value, CHANGE_KINDS, today);
  const hasFailed = shouldFail(result, failOn);
  const names = {
    base: redactedLocation(options.base),
    head: redactedLocation(options.head),
    acceptFile,
  };
  const project = projectInRepository(options.manifest ?? null);
  const report = { ...diffReport({ ...result, ...names, failed: hasFailed }, rated.value.shapes), project };
  return {
    exit: hasFailed ? EXIT.findings : EXIT.ok,
    output: renderReport(report, options.format),
    notes: [...base.value.warnings, ...head.value.warnings].map((warning) => `warning: ${warning}`),
  };
}

/** Of plans; with `--usage` and a database of keys, each with the organizations that it hits. */
async function planChanges(
  base: Catalogue,
  head: Catalogue,
  { usage, severities, variables = process.env }: DiffOptions,
): Promise<Outcome<readonly Change[]>> {
  const changes = comparePlans(base, head, severities);
  const databaseUrl = variables["KEYS_DATABASE_URL"];
  if (changes.length === 0 || usage !== true || !databaseUrl) return succeeded(changes);
  const { openKeyStore } = await import("@routewright/runtime/keys");
  let store: KeyStore | null = null;
  try {
    store = await openKeyStore({ databaseUrl, defaultFile: "" });
    const organizations = (await store.organizations?.list()) ?? [];
    const holders = groupedBy(organizations, ({ plan }) => plan ?? "");
    const ids = new Map([...holders].map(([plan, all]) => [plan, all.map(({ id }) => id)]));
    return succeeded(comparePlans(base, head, severities, ids));
  } catch (error) {
    return failed(`KEYS_DATABASE_URL: ${messageOf(error)}`);
  } finally {
    await store?.close();
  }
}

/** A base that does not exist yet has what the head has. */
function withoutBase(head: Revision, { problems }: Failure): Revision {
  return { ...head, warnings: [`${problems.join(" ")} Nothing was compared.`] };
}

/** Says of breaking changes who they hit, rates those that hit nobody, and tries the shapes of requests that servers kept. */
async function rateByUsage(
  changes: readonly Change[],
  base: Catalogue,
  { usage, usageDays: days = USAGE_DAYS, unused = "breaking", today, variables = process.env }: DiffOptions,
): Promise<Outcome<UsageVerdict>> {
  const asking = changes.filter(asksUsage);
  if (usage === undefined || asking.length === 0) return succeeded({ changes });
  const paths = [...new Set(asking.map(({ endpoint }) => endpoint).flatMap(pathsHit(base)))];
  const reading =
    usage === true
      ? await (await import("./usage.js")).recordedUsage(variables, paths, firstDay(today, days))
      : await readUsageFile(usage, paths, firstDay(today, days));
  if (!reading.ok) return reading;
  const verdict = withUsage(changes, base, reading.value, { today, days });
  return succeeded({ ...verdict, changes: rateUnused(verdict.changes, unused) });
}
