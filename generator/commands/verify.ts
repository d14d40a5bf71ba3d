import { Option } from "commander";
import { readEnvironment } from "@routewright/runtime/server";
import type { Settings } from "../config.js";
import { readRevision, type RevisionOptions } from "../diff/revision.js";
import type { Progress } from "../render/render.js";
import { renderReport, terminalOf } from "../report/render-report.js";
import { type Format, FORMATS } from "../report/report.js";
import type { Terminal } from "../report/text.js";
import { verifyReport } from "../report/verify-report.js";
import { verifyIndexes } from "../verify/indexes.js";
import { type Mismatch, postgresRelations, verifyRelations } from "../verify/relations.js";
import { type CliCommand, type CommandResult, EXIT, OPTIONS, withSettings } from "./command.js";
import type { Catalogue } from "../catalogue/catalogue.js";
import { adapterProblem, type ClickhouseAddress, clickhouseAddress } from "@routewright/runtime/model";
import { type DatabaseOutcome, queryDatabase, readClickhouse } from "./database.js";

export interface VerifyOptions extends RevisionOptions {
  /** The catalogue, as `readRevision` takes it. */
  readonly revision: string;
  /** Address of the database; null for the embedded one. */
  readonly databaseUrl: string | null;
  /** The ClickHouse that is served instead; none by default. */
  readonly clickhouse?: ClickhouseAddress | null;
  readonly format: Format;
  readonly terminal?: Terminal;
  readonly onProgress?: Progress;
}

export function configureVerify(command: CliCommand): void {
  command
    .argument(
      "[catalogue]",
      "a generated folder, a manifest (file or URL), or git:<ref> (default: the generated folder)",
    )
    .addOption(new Option("--format <format>", "output format").choices(FORMATS).default("text"))
    .addOption(OPTIONS.generated())
    .runs((revision: string | undefined, flags: { format: Format; generated?: string }, self: CliCommand) =>
      withSettings(flags, (settings) =>
        start(revision ?? settings.out, {
          ...settings,
          ...flags,
          onProgress: self.progress("Checking indexes"),
        }),
      ),
    )
    .helpEnd(["verify", "verify target/manifest.json --format json"], {
      1: "the database differs from the catalogue",
    });
}

function start(
  revision: string,
  settings: Settings & Pick<VerifyOptions, "format" | "onProgress">,
): CommandResult | Promise<CommandResult> {
  const reading = readEnvironment(settings.variables);
  if (!reading.ok) return { exit: EXIT.error, errors: reading.problems };
  const { databaseUrl, clickhouseUrl } = reading.environment;
  const terminal = terminalOf(process.stdout, process.env);
  return verify({
    ...settings,
    generated: settings.out,
    revision,
    databaseUrl,
    clickhouse: clickhouseUrl === null ? null : clickhouseAddress(clickhouseUrl),
    cwd: process.cwd(),
    terminal,
  });
}

/** `routewright verify`: where the database is not as the catalogue documents it. */
export async function verify(options: VerifyOptions): Promise<CommandResult> {
  const revision = await readRevision(options.revision, options);
  if (!revision.ok) return { exit: EXIT.error, errors: [revision.problem] };
  const { catalogue } = revision;
  const { clickhouse = null } = options;
  const problem = adapterProblem(catalogue.adapter, clickhouse !== null);
  if (problem !== null) return { exit: EXIT.error, errors: [problem] };
  const found =
    clickhouse === null
      ? await verifyPostgres(catalogue, options)
      : await readClickhouse(clickhouse, (read) => verifyRelations(catalogue, read));
  if (!found.ok) return { exit: EXIT.error, errors: [found.problem] };
  const differences = found.value;
  const report = verifyReport(differences, catalogue.entries.length);
  const output = renderReport(report, options.format, options.terminal);
  return { exit: differences.length > 0 ? EXIT.findings : EXIT.ok, output };
}

/** Relations, columns, and the plans of filters. */
function verifyPostgres(
  catalogue: Catalogue,
  options: VerifyOptions,
): Promise<DatabaseOutcome<readonly Mismatch[]>> {
  return queryDatabase(options.databaseUrl, async (query) => {
    const mismatches = await verifyRelations(catalogue, postgresRelations(query));
    const broken = new Set(mismatches.filter(isBroken).map(({ endpoint }) => endpoint));
    let checked = 0;
    const unindexed = await verifyIndexes(catalogue, query, ({ endpoint }) => {
      options.onProgress?.(checked++, catalogue.entries.length);
      return !broken.has(endpoint.path);
    });
    return [...mismatches, ...unindexed];
  });
}

/** Whether a query of the endpoint would fail. */
function isBroken({ check }: Mismatch): boolean {
  return check === "missing-relation" || check === "unreadable-relation" || check === "missing-column";
}
