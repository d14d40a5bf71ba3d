import { existsSync } from "node:fs";
import { readGenerationEnvironment } from "@routewright/runtime/model";
import { type Command, Option } from "commander";
import pg from "pg";
import type { Then } from "../command-line/then.js";
import { type Format, FORMATS } from "../report/report.js";
import type { Terminal } from "../report/text.js";
import type { Difference } from "../verify/relations.js";
import { EXIT, type Outcome } from "./outcome.js";

export interface VerifyOptions {
  /** The catalogue, as `readRevision` takes it. */
  readonly revision: string;
  /** Address of the database; null for the embedded one. */
  readonly databaseUrl: string | null;
  readonly format: Format;
  readonly generated: string;
  readonly cwd: string;
  readonly terminal?: Terminal;
}

export function addVerify(command: Command, then: Then): void {
  command
    .description("compare the catalogue with the live database")
    .argument("[catalogue]", "a generated folder, a manifest (file or URL), or git:<ref>", "generated")
    .addOption(new Option("--format <format>", "output format").choices(FORMATS).default("text"))
    .option("--generated <folder>", "the generated folder that git:<ref> means", "generated")
    .action((revision: string, flags: Pick<VerifyOptions, "format" | "generated">) =>
      then(start(revision, flags)),
    );
}

async function start(revision: string, flags: Pick<VerifyOptions, "format" | "generated">): Promise<Outcome> {
  const [{ readEnvironment }, { terminalOf }] = await Promise.all([
    import("@routewright/runtime/server"),
    import("../report/render.js"),
  ]);
  const reading = readEnvironment(process.env);
  if (!reading.ok) return { exit: EXIT.error, errors: reading.problems };
  const { databaseUrl } = reading.environment;
  const terminal = terminalOf(process.stdout, process.env);
  return verify({ ...flags, revision, databaseUrl, cwd: process.cwd(), terminal });
}

/** `routewright verify`: where the database is not as the catalogue documents it. */
export async function verify(options: VerifyOptions): Promise<Outcome> {
  const [{ readRevision }, { renderReport }, { verifyReport }, { verifyIndexes }, { verifyRelations }] =
    await Promise.all([
      import("../diff/revision.js"),
      import("../report/render.js"),
      import("../report/verify-report.js"),
      import("../verify/indexes.js"),
      import("../verify/relations.js"),
    ]);
  const { environment } = readGenerationEnvironment(process.env);
  const revision = await readRevision(options.revision, { ...options, defaultTier: environment.defaultTier });
  if (!revision.ok) return { exit: EXIT.error, errors: [revision.problem] };
  const { catalogue } = revision;
  const found = await inDatabase(options.databaseUrl, async (query) => {
    const differences = await verifyRelations(catalogue, query);
    const broken = new Set(differences.filter(isBroken).map(({ endpoint }) => endpoint));
    const unindexed = await verifyIndexes(catalogue, query, ({ endpoint }) => !broken.has(endpoint.path));
    return [...differences, ...unindexed];
  });
  if (!found.ok) return { exit: EXIT.error, errors: [found.problem] };
  const report = verifyReport(found.differences, catalogue.entries.length);
  const output = renderReport(report, options.format, options.terminal);
  return { exit: found.differences.length > 0 ? EXIT.findings : EXIT.ok, output };
}

/** Whether a query of the endpoint would fail. */
function isBroken({ check }: Difference): boolean {
  return check === "missing-relation" || check === "unreadable-relation" || check === "missing-column";
}

type Query = (text: string, values?: readonly unknown[]) => Promise<readonly unknown[]>;
type Found =
  | { readonly ok: true; readonly differences: readonly Difference[] }
  | { readonly ok: false; readonly problem: string };

/** Without an address, the embedded database: the running one, or one started for this. */
async function inDatabase(
  url: string | null,
  work: (query: Query) => Promise<readonly Difference[]>,
): Promise<Found> {
  if (url !== null) return connected(url, work);
  if (!existsSync(".data/postgres"))
    return {
      ok: false,
      problem: "There is no database to compare with: set DATABASE_URL, or run `routewright serve` once.",
    };
  const { startEmbeddedPostgres } = await import("@routewright/runtime/server");
  const embedded = await startEmbeddedPostgres({ dataDir: ".data" });
  try {
    return await connected(embedded.url, work);
  } finally {
    await embedded.stop();
  }
}

const TIMEOUT_MS = 30_000;

async function connected(
  url: string,
  work: (query: Query) => Promise<readonly Difference[]>,
): Promise<Found> {
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
