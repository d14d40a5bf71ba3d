import { Option } from "commander";
import { readEnvironment } from "@routewright/runtime/server";
import type { Settings } from "../config.js";
import { readRevision, type RevisionOptions } from "../diff/revision.js";
import { recordedBuilds } from "../manifest/run-results.js";
import { redactedLocation } from "../artifacts/source.js";
import { renderReport } from "../report/render-report.js";
import { type Format, FORMATS, type Report } from "../report/report.js";
import { FAIL_ON, type FailOn, shouldFail } from "../report/finding.js";
import { list, sentence } from "../manifest/strings.js";
import { verifyAggregateRows, verifyGroupings } from "../verify/aggregates.js";
import { hasRollUps, verifyRollUps } from "../verify/roll-ups.js";
import { verifyCopies } from "../verify/copies.js";
import { verifyQueries } from "../verify/indexes.js";
import { type PromiseReview, verifyPromises } from "../verify/build-promises.js";
import {
  MISMATCH_RULES,
  type MismatchRule,
  type CheckSeverities,
  type Mismatch,
  withSeverities,
} from "../verify/checks.js";
import { ACCEPT_FILE, applyAcceptFile, readNamedFile } from "../report/accept-file.js";
import { inspectRelations, verifyKeys } from "../verify/relations.js";
import { type CliCommand, type CommandResult, EXIT, failure, OPTIONS, withSettings } from "./command.js";
import type { Catalogue, CatalogueEntry } from "../catalogue/catalogue.js";
import {
  adapterProblem,
  type BuildRecords,
  type ClickhouseAddress,
  clickhouseAddress,
} from "@routewright/runtime/model";
import { inspectDatabase, type LiveDatabase } from "./database.js";
import { type ReportProgress, withProgress } from "./progress.js";
import { CACHE_RULES } from "../verify/cache/verify-cache.js";
import { verifyAt } from "./verify-cache.js";
import { verifyReport } from "../verify/verify-report.js";

export interface VerifyOptions extends RevisionOptions {
  /** The catalogue, as `readRevision` takes it. */
  readonly revision: string;
  /** Address of the database; null for the embedded one. */
  readonly databaseUrl: string | null;
  /** The ClickHouse that is served instead; none by default. */
  readonly clickhouse?: ClickhouseAddress | null;
  readonly format: Format;
  readonly failOn: FailOn;
  readonly severities?: CheckSeverities;
  /** File of accepted differences; undefined: the default file, if there is one. */
  readonly accept?: string | undefined;
  /** `YYYY-MM-DD`: entries of the accept file end by it. */
  readonly today?: string;
  /** The environment, which names dbt's `run_results.json`. */
  readonly variables?: NodeJS.ProcessEnv;
}

export function configure(command: CliCommand): void {
  command
    .argument(
      "[catalogue]",
      "a generated folder, a manifest (file or URL), or git:<ref> (default: the generated folder)",
    )
    .addOption(new Option("--format <format>", "output format").choices(FORMATS).default("text"))
    .option("--cache <address>", "try the shared cache at this address, in place of the database")
    .addOption(new Option("--fail-on <differences>", "exit 1 at these").choices(FAIL_ON).default("warning"))
    .addOption(OPTIONS.accept("differences"))
    .addOption(OPTIONS.generated())
    .runs((revision: string | undefined, flags: Flags) =>
      withSettings(flags, (settings) => start(revision ?? settings.out, { ...settings, ...flags })),
    )
    .helpEnd(
      ["verify", "verify target/manifest.json --format json", "verify --cache https://data.example.com"],
      {
        1: "differences of --fail-on that are not accepted",
      },
    );
}

type Flags = Pick<VerifyOptions, "format" | "failOn" | "accept"> & {
  readonly generated?: string;
  readonly cache?: string;
};

function start(
  revision: string,
  settings: Settings & Omit<Flags, "generated">,
): CommandResult | Promise<CommandResult> {
  const { cache } = settings;
  if (cache !== undefined) return verifyAt(cache, revision, settings);
  const reading = readEnvironment(settings.variables);
  if (!reading.ok) return failure(...reading.problems);
  const { databaseUrl, clickhouseUrl } = reading.value.environment;
  return verify({
    ...settings,
    generated: settings.out,
    severities: settings.verify,
    revision,
    databaseUrl,
    clickhouse: clickhouseUrl === null ? null : clickhouseAddress(clickhouseUrl),
    cwd: process.cwd(),
  });
}

/** `routewright verify`: where the database is not as the catalogue documents it. */
export async function verify(options: VerifyOptions): Promise<CommandResult> {
  const revision = await readRevision(options.revision, options);
  if (!revision.ok) return failure(...revision.problems);
  const { catalogue } = revision.value;
  if (catalogue.entries.length === 0) return failure(nothingToVerify(options.revision));
  const { clickhouse = null } = options;
  const problem = adapterProblem(catalogue.adapter, clickhouse !== null);
  if (problem !== null) return failure(problem);
  const [builds, accept] = await Promise.all([
    recordedBuilds(options.variables ?? {}),
    readNamedFile(options.accept),
  ]);
  if (!builds.ok) return failure(...builds.problems);
  if (!accept.ok) return failure(...accept.problems);
  const found = await withProgress("Comparing endpoints", (progress) =>
    inspectDatabase({ ...options, clickhouse }, (database) =>
      reviewIn(database, catalogue, builds.value.records, {
        isWithoutIndexes: options.severities?.["unindexed-filter"] === "off",
        progress,
      }),
    ),
  );
  if (!found.ok) return failure(...found.problems);
  const { mismatches, couldPromise } = found.value;
  const outcome = applyAcceptFile(
    withSeverities(mismatches, options.severities),
    accept.value,
    MISMATCH_RULES.filter((rule) => !CACHE_RULES.includes(rule)),
    options.today ?? new Date().toISOString().slice(0, 10),
  );
  const failed = shouldFail(outcome.unaccepted, options.failOn);
  const facts = {
    title: "API and database",
    notes: promiseNotes(couldPromise),
    endpoints: catalogue.entries.length,
    failed,
    acceptFile: options.accept ?? ACCEPT_FILE,
  };
  const report = verifyReport(facts, outcome, { couldPromise });
  const output = renderReport(report, options.format);
  return { exit: failed ? EXIT.findings : EXIT.ok, output };
}

function nothingToVerify(revision: string): string {
  return `${redactedLocation(revision)} has no endpoint to verify: tag models with production and api:<resource>, then run \`routewright generate\`.`;
}

/** Relations, columns, promises, duplicates under keys, and the plans of filters. */
async function reviewIn(
  { readRelations, readSource, query, names, withWarehouse }: LiveDatabase,
  catalogue: Catalogue,
  builds: BuildRecords,
  queries: { readonly isWithoutIndexes: boolean; readonly progress: ReportProgress },
): Promise<PromiseReview> {
  const { mismatches, own } = await inspectRelations(catalogue, readRelations);
  const isToCheck = hasNone(mismatches);
  const duplicates = await verifyKeys(own, query, names, isToCheck);
  const ofStatements = await withWarehouse(async (warehouse) => [
    ...(await verifyCopies(own, { loads: (relations) => warehouse.loads(relations) }, builds)),
    ...(await verifyAggregateRows(own, query, names, isToCheck, warehouse)),
    ...(await verifyGroupings(own, warehouse, isToCheck)),
    ...(await verifyQueries(own, warehouse, { ...queries, isToCheck })),
  ]);
  const ofRollUps = hasRollUps(own)
    ? await withWarehouse((warehouse) => verifyRollUps(own, warehouse, isToCheck), {
        rollUpVersion: () => "now",
      })
    : [];
  const { mismatches: broken, couldPromise } = await verifyPromises(own, readSource, isToCheck);
  return {
    mismatches: [...mismatches, ...duplicates, ...broken, ...ofStatements, ...ofRollUps],
    couldPromise,
  };
}

/** Tells entries whose queries work from those that have a breaking mismatch. */
function hasNone(mismatches: readonly Mismatch[]): (entry: CatalogueEntry) => boolean {
  const broken = new Set(mismatches.filter(({ rule }) => BREAKING.has(rule)).map(({ endpoint }) => endpoint));
  return ({ path }) => !broken.has(path);
}

const BREAKING: ReadonlySet<MismatchRule> = new Set([
  "missing-relation",
  "unreadable-relation",
  "unpopulated-relation",
  "missing-column",
]);

function promiseNotes(couldPromise: readonly string[]): Report["notes"] {
  if (couldPromise.length === 0) return [];
  return [
    sentence`Nothing but builds was found to change the rows of ${list(couldPromise)}: their models could promise \`changes: on_build\`.`,
  ];
}
