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
import { type Mismatch, verifyRelations } from "../verify/relations.js";
import { type CliCommand, type CommandResult, EXIT, OPTIONS, withSettings } from "./command.js";
import { queryDatabase } from "./database.js";

export interface VerifyOptions extends RevisionOptions {
  /** The catalogue, as `readRevision` takes it. */
  readonly revision: string;
  /** Address of the database; null for the embedded one. */
  readonly databaseUrl: string | null;
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
  const { databaseUrl } = reading.environment;
  const terminal = terminalOf(process.stdout, process.env);
  return verify({
    ...settings,
    generated: settings.out,
    revision,
    databaseUrl,
    cwd: process.cwd(),
    terminal,
  });
}

/** `routewright verify`: where the database is not as the catalogue documents it. */
export async function verify(options: VerifyOptions): Promise<CommandResult> {
  const revision = await readRevision(options.revision, options);
  if (!revision.ok) return { exit: EXIT.error, errors: [revision.problem] };
  const { catalogue } = revision;
  const found = await queryDatabase(options.databaseUrl, async (query) => {
    const mismatches = await verifyRelations(catalogue, query);
    const broken = new Set(mismatches.filter(isBroken).map(({ endpoint }) => endpoint));
    let checked = 0;
    const unindexed = await verifyIndexes(catalogue, query, ({ endpoint }) => {
      options.onProgress?.(checked++, catalogue.entries.length);
      return !broken.has(endpoint.path);
    });
    return [...mismatches, ...unindexed];
  });
  if (!found.ok) return { exit: EXIT.error, errors: [found.problem] };
  const differences = found.value;
  const report = verifyReport(differences, catalogue.entries.length);
  const output = renderReport(report, options.format, options.terminal);
  return { exit: differences.length > 0 ? EXIT.findings : EXIT.ok, output };
}

/** Whether a query of the endpoint would fail. */
function isBroken({ check }: Mismatch): boolean {
  return check === "missing-relation" || check === "unreadable-relation" || check === "missing-column";
}
