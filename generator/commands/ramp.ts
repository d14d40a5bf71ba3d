import * as ramp from "@routewright/runtime/ramp";
import { EXIT, type Outcome } from "./outcome.js";
import { stopSignal } from "./stop-signal.js";

/** What the ramp keeps on this machine where no database is named. */
const DATA_DIR = ".data";

/** What a command prints: a record, or a list of records. */
type Printed = object | readonly object[];

export interface RampFlags {
  readonly json: boolean;
}

/** Opens the ramp's database for one command and prints what came of it. */
export async function setUp(
  { json }: RampFlags,
  command: (desk: ramp.SetUpDesk) => Promise<ramp.SetUp<Printed>>,
  note?: string,
): Promise<Outcome> {
  const reading = ramp.readEnvironment(process.env);
  if (!reading.ok) return { exit: EXIT.error, errors: reading.problems };
  const log = ramp.openLog("warn");
  const desk = await ramp.openSetUp({ environment: reading.environment, dataDir: DATA_DIR, log });
  try {
    const outcome = await command(desk);
    if (!outcome.ok) return { exit: EXIT.error, errors: [outcome.problem] };
    const output = json ? `${JSON.stringify(outcome.value, null, 2)}\n` : textOf(outcome.value);
    return { exit: EXIT.ok, output, ...(note === undefined ? {} : { notes: [note] }) };
  } finally {
    await desk.close();
  }
}

/** The same for a command on one project. */
export function setUpProject(
  flags: RampFlags & { readonly project: string },
  command: (desk: ramp.SetUpDesk, projectId: ProjectId) => Promise<ramp.SetUp<Printed>>,
  note?: string,
): Promise<Outcome> {
  return setUp(
    flags,
    async (desk) => {
      const project = await ramp.findProject(desk.database, flags.project);
      return project.ok ? command(desk, project.value) : project;
    },
    note,
  );
}

type ProjectId = Extract<Awaited<ReturnType<typeof ramp.findProject>>, { readonly ok: true }>["value"];

/** A value as a success. */
export async function listed(rows: Promise<Printed>): Promise<ramp.SetUp<Printed>> {
  return { ok: true, value: await rows };
}

function textOf(value: Printed): string {
  const records = Array.isArray(value) ? (value as readonly object[]) : [value];
  return records.map((record) => `${linesOf(record).join("\n")}\n`).join("\n");
}

function linesOf(record: object): string[] {
  return Object.entries(record).map(
    ([name, value]) => `${name}: ${value instanceof Date ? value.toISOString() : String(value)}`,
  );
}

/** `routewright ramp sandbox`: two made-up providers, until a signal stops them. */
export async function sandbox(flags: { readonly host: string; readonly port: string }): Promise<Outcome> {
  const port = /^\d{1,5}$/.test(flags.port) ? Number(flags.port) : NaN;
  if (!(port <= 65_535))
    return { exit: EXIT.error, errors: ["--port must be a whole number from 0 to 65535."] };
  const server = await ramp.startSandbox({ host: flags.host, port });
  process.stdout.write(`${sandboxGreeting(server.url)}\n`);
  await stopSignal();
  await server.stop();
  return { exit: EXIT.ok };
}

function sandboxGreeting(url: string): string {
  const connections = ramp.SANDBOX_PROVIDERS.map(
    ({ code, path, keyId, secret }) =>
      `  routewright ramp provider connect --project <id> --provider ${code} --url ${url}${path} --key-id ${keyId} --secret ${secret}`,
  );
  return [
    `Sandbox providers on ${url}; misbehaviour is switched on at ${url}/switches. To connect a project:`,
    ...connections,
  ].join("\n");
}
