import { Worker } from "node:worker_threads";
import { existsSync } from "node:fs";
import {
  type Environment,
  openLog,
  readEnvironment,
  startEmbeddedPostgres,
} from "@routewright/runtime/server";
import { Option } from "commander";
import pg from "pg";
import type { Settings } from "../config.js";
import { readRevision, type RevisionOptions } from "../diff/revision.js";
import { plainText } from "../report/quote.js";
import type { Progress } from "../render/render.js";
import { renderReport, terminalOf } from "../report/render-report.js";
import { type Format, FORMATS } from "../report/report.js";
import type { Terminal } from "../report/text.js";
import { verifyReport } from "../report/verify-report.js";
import { verifyIndexes } from "../verify/indexes.js";
import { type Mismatch, verifyRelations } from "../verify/relations.js";
import { type CliCommand, EXIT, OPTIONS, type CommandResult, withSettings } from "./command.js";

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
  const found = await inDatabase(options.databaseUrl, async (query) => {
    const differences = await verifyRelations(catalogue, query);
    const broken = new Set(differences.filter(isBroken).map(({ endpoint }) => endpoint));
    let checked = 0;
    const unindexed = await verifyIndexes(catalogue, query, ({ endpoint }) => {
      options.onProgress?.(checked++, catalogue.entries.length);
      return !broken.has(endpoint.path);
    });
    return [...differences, ...unindexed];
  });
  if (!found.ok) return { exit: EXIT.error, errors: [found.problem] };
  const report = verifyReport(found.differences, catalogue.entries.length);
  const output = renderReport(report, options.format, options.terminal);
  return { exit: found.differences.length > 0 ? EXIT.findings : EXIT.ok, output };
}

/** Findings that the start of a server logs at most. */
const MAX_LOGGED = 50;

/** What `serve` compares once it listens. */
export interface Verified extends Pick<Environment, "databaseUrl" | "logLevel" | "defaultTier"> {
  readonly generated: string;
}

/** The bundled thread in the package's `dist/`: seen from the sources, or from a folder of the bundle. */
const THREAD = new URL(
  import.meta.url.endsWith(".ts") ? "../dist/verify-thread.js" : "../verify-thread.js",
  import.meta.url,
);

/** Compares relations and columns, without the plans of filters, and logs each finding; in a thread of its own. */
export function verifyInThread(generated: string, environment: Environment): void {
  const { databaseUrl, logLevel, defaultTier } = environment;
  const verified: Verified = { generated, databaseUrl, logLevel, defaultTier };
  const failed = (error: Error): void => openLog(logLevel).warn({ err: error }, "not verified");
  new Worker(THREAD, { workerData: verified }).once("error", failed).unref();
}

export async function logDifferences({
  generated,
  databaseUrl,
  logLevel,
  defaultTier,
}: Verified): Promise<void> {
  const log = openLog(logLevel);
  const revision = await readRevision(generated, { defaultTier, generated, cwd: process.cwd() });
  if (!revision.ok) return log.warn({ detail: revision.problem }, "not verified");
  const found = await inDatabase(databaseUrl, (query) => verifyRelations(revision.catalogue, query));
  if (!found.ok) return log.warn({ detail: found.problem }, "not verified");
  const { differences } = found;
  for (const { check, endpoint, message, hint } of differences.slice(0, MAX_LOGGED))
    log.warn({ check, endpoint, detail: plainText(message), hint: plainText(hint) }, "verify");
  const left = differences.length - MAX_LOGGED;
  if (left > 0) log.warn({ left }, "verify: there are more, run `routewright verify`");
}

/** Whether a query of the endpoint would fail. */
function isBroken({ check }: Mismatch): boolean {
  return check === "missing-relation" || check === "unreadable-relation" || check === "missing-column";
}

type Query = (text: string, values?: readonly unknown[]) => Promise<readonly unknown[]>;
type Found =
  | { readonly ok: true; readonly differences: readonly Mismatch[] }
  | { readonly ok: false; readonly problem: string };

/** Without an address, the embedded database: the running one, or one started for this. */
async function inDatabase(
  url: string | null,
  work: (query: Query) => Promise<readonly Mismatch[]>,
): Promise<Found> {
  if (url !== null) return connected(url, work);
  if (!existsSync(".data/postgres"))
    return {
      ok: false,
      problem: "There is no database to compare with: set DATABASE_URL, or run `routewright serve` once.",
    };
  const embedded = await startEmbeddedPostgres({ dataDir: ".data" });
  try {
    return await connected(embedded.url, work);
  } finally {
    await embedded.stop();
  }
}

const TIMEOUT_MS = 30_000;

async function connected(url: string, work: (query: Query) => Promise<readonly Mismatch[]>): Promise<Found> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: TIMEOUT_MS,
    query_timeout: TIMEOUT_MS,
  });
  try {
    await client.connect();
    const query: Query = async (text, values = []) =>
      (await client.query(text, [...values])).rows as readonly unknown[];
    return { ok: true, differences: await work(query) };
  } catch (error) {
    // An address may hold a password: only the server's own words are shown.
    return { ok: false, problem: `The database cannot be read: ${(error as Error).message}` };
  } finally {
    await client.end().catch(() => undefined);
  }
}
