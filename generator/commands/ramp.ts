import { type Command, InvalidArgumentError } from "commander";
import type { AdminSession, SetupResult } from "@routewright/runtime/ramp";
import type { Then } from "../command-line/then.js";
import { EXIT, type Outcome } from "./outcome.js";
import { stopSignal } from "./stop-signal.js";

/** Folder of the embedded database; used when no database URL is set. */
const DATA_DIR = ".data";
const SHOWN_ONCE = "The secret is shown once: store it now.";

type RampModule = typeof import("@routewright/runtime/ramp");
type ProjectId = Parameters<RampModule["listSecrets"]>[1];

/** What a command prints: a record, or a list of records. */
type Printed = object | readonly object[];
type Result = Promise<Printed | SetupResult<Printed>>;

interface CommandContext extends AdminSession {
  readonly ramp: RampModule;
}

/** Declares the subcommands of one group, such as `ramp project …`. */
interface Group {
  add(
    usage: string,
    description: string,
    run: (context: CommandContext, flags: Flags) => Result,
    note?: string,
  ): Command;
  /** The same for a command that works on one project: adds `--project`. */
  addForProject(
    usage: string,
    description: string,
    run: (context: CommandContext, projectId: ProjectId, flags: Flags) => Result,
    note?: string,
  ): Command;
}

/** Flags by their commander names; each command reads those that it declares. */
interface Flags {
  readonly json: boolean;
  readonly [name: string]: unknown;
}

/** `routewright ramp …`: the set-up of the ramp on its database (runtime/ramp/README.md, Set-up). */
export function addRamp(command: Command, then: Then): void {
  command.description(
    "set up the ramp: organizations, projects, providers, identity providers, webhooks, keys",
  );
  const group = (name: string, description: string): Group =>
    groupOf(command.command(name).description(description).exitOverride(), then);
  addOrganizations(group("org", "organizations"));
  addProjects(group("project", "projects"));
  addSecrets(group("secret", "client secrets; two of a project may be valid at once"));
  addIdentityProviders(group("idp", "identity providers whose ID tokens a project accepts"));
  addProviders(group("provider", "a project's connections to providers"));
  addWebhooks(group("webhook", "receivers of a project's events"));
  addKeys(group("key", "keys that sign customer tokens"));
  groupOf(command, then).add("migrate", "update the ramp's database to the newest schema", ({ migrated }) =>
    Promise.resolve({ migrated }),
  );
  addSandbox(command, then);
}

function groupOf(parent: Command, then: Then): Group {
  const add: Group["add"] = (usage, description, run, note) =>
    parent
      .command(usage)
      .description(description)
      .option("--json", "print JSON", false)
      .exitOverride()
      .action((flags: Flags) => then(runCommand(flags, (context) => run(context, flags), note)));
  return {
    add,
    addForProject: (usage, description, run, note) =>
      add(
        usage,
        description,
        async (context, flags) => {
          const project = await context.ramp.findProject(context.database, text(flags, "project"));
          return project.ok ? run(context, project.value, flags) : project;
        },
        note,
      ).requiredOption("--project <id>", "the project's id"),
  };
}

/** Opens the ramp's database for one command and prints the result. */
async function runCommand(
  { json }: Flags,
  run: (context: CommandContext) => Result,
  note?: string,
): Promise<Outcome> {
  const ramp = await import("@routewright/runtime/ramp");
  const reading = ramp.readEnvironment(process.env);
  if (!reading.ok) return { exit: EXIT.error, errors: reading.problems };
  const log = ramp.openLog("warn");
  const session = await ramp.openAdminSession({
    environment: reading.environment,
    dataDir: DATA_DIR,
    log,
  });
  try {
    const result = await run({ ...session, ramp });
    const outcome = "ok" in result ? (result as SetupResult<Printed>) : { ok: true as const, value: result };
    if (!outcome.ok) return { exit: EXIT.error, errors: [outcome.problem] };
    const output = json ? `${JSON.stringify(outcome.value, null, 2)}\n` : textOf(outcome.value);
    return { exit: EXIT.ok, output, ...(note === undefined ? {} : { notes: [note] }) };
  } finally {
    await session.close();
  }
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

const text = (flags: Flags, name: string): string => String(flags[name] ?? "");
const list = (flags: Flags, name: string): readonly string[] => (flags[name] ?? []) as readonly string[];
const collect = (value: string, before: readonly string[] = []): readonly string[] => [...before, value];

function whole(min: number, max: number): (text: string) => number {
  return (given) => {
    const number = /^\d{1,9}$/.test(given) ? Number(given) : NaN;
    if (!(number >= min && number <= max))
      throw new InvalidArgumentError(`A whole number from ${String(min)} to ${String(max)}.`);
    return number;
  };
}

function addOrganizations({ add }: Group): void {
  add("create", "create an organization", ({ ramp, database }, flags) =>
    ramp.createOrganization(database, text(flags, "name")),
  ).requiredOption("--name <name>", "its name");
  add("list", "list organizations", ({ ramp, database }) => ramp.listOrganizations(database));
}

function addProjects({ add }: Group): void {
  add(
    "create",
    "create a project and print its credentials once",
    ({ ramp, database }, flags) =>
      ramp.createProject(database, {
        organizationId: text(flags, "org"),
        name: text(flags, "name"),
        tokenTtlSeconds: Number(flags["ttlSeconds"]),
        pageOrigins: list(flags, "pageOrigin"),
      }),
    SHOWN_ONCE,
  )
    .requiredOption("--org <id>", "the organization's id")
    .requiredOption("--name <name>", "its name")
    .option("--ttl-seconds <seconds>", "added to the expiry of a subject token", whole(0, 31_536_000), 0)
    .option("--page-origin <origin>", "origin that may frame the hosted pages; repeatable", collect);
  add("list", "list projects", ({ ramp, database }) => ramp.listProjects(database));
}

function addSecrets({ addForProject }: Group): void {
  addForProject(
    "add",
    "create a second secret and print it once",
    ({ ramp, database }, id) => ramp.addSecret(database, id),
    SHOWN_ONCE,
  );
  addForProject("list", "list secrets by id", ({ ramp, database }, id) => ramp.listSecrets(database, id));
  addForProject("revoke", "revoke a secret", ({ ramp, database }, id, flags) =>
    ramp.revokeSecret(database, id, text(flags, "secret")),
  ).requiredOption("--secret <id>", "the secret's id");
}

function addIdentityProviders({ addForProject }: Group): void {
  addForProject("add", "accept the ID tokens of an issuer", ({ ramp, database }, id, flags) =>
    ramp.addIdentityProvider(database, id, {
      issuer: text(flags, "issuer"),
      audiences: list(flags, "audience"),
      clockSkewSeconds: Number(flags["clockSkew"]),
    }),
  )
    .requiredOption("--issuer <url>", "the issuer, as its tokens name it")
    .requiredOption("--audience <name>", "an audience that its tokens may have; repeatable", collect)
    .option("--clock-skew <seconds>", "tolerated difference between the clocks", whole(0, 600), 0);
  addForProject("list", "list identity providers", ({ ramp, database }, id) =>
    ramp.listIdentityProviders(database, id),
  );
}

function addProviders({ addForProject }: Group): void {
  addForProject(
    "connect",
    "connect a provider, or change its credentials",
    ({ ramp, database, vault }, id, flags) =>
      ramp.connectProvider(database, vault, id, {
        provider: text(flags, "provider"),
        url: text(flags, "url"),
        keyId: text(flags, "keyId"),
        secret: text(flags, "secret"),
      }),
  )
    .requiredOption("--provider <code>", "the provider's code")
    .requiredOption("--url <url>", "address of its server")
    .requiredOption("--key-id <id>", "the credential's id")
    .requiredOption("--secret <secret>", "the credential's secret; stored encrypted");
  addForProject("list", "list connections", ({ ramp, database }, id) => ramp.listConnections(database, id));
  addForProject("disconnect", "send no new intents to a provider", ({ ramp, database }, id, flags) =>
    ramp.disconnectProvider(database, id, text(flags, "provider")),
  ).requiredOption("--provider <code>", "the provider's code");
}

function addWebhooks({ addForProject }: Group): void {
  addForProject(
    "set",
    "set the receiver of events and print the signing secret once",
    ({ ramp, database, vault }, id, flags) =>
      ramp.setWebhook(database, vault, id, {
        url: text(flags, "url"),
        allowPrivate: flags["allowPrivate"] === true,
      }),
    SHOWN_ONCE,
  )
    .requiredOption("--url <url>", "the receiver's address")
    .option("--allow-private", "allow private addresses", false);
  addForProject(
    "replay",
    "deliver exhausted events again, or all of one event",
    ({ ramp, database }, id, flags) =>
      ramp.replayWebhooks(database, id, (flags["event"] as string | undefined) ?? null),
  ).option("--event <id>", "the event's id");
}

function addKeys({ add }: Group): void {
  add(
    "rotate",
    "sign new customer tokens with a new key; older keys keep verifying",
    ({ ramp, database, vault }) => ramp.rotateKey(database, vault),
  );
  add("list", "list signing keys by id", ({ ramp, database }) => ramp.listKeys(database));
}

/** `routewright ramp sandbox`: serves two sandbox providers until a signal stops them. */
function addSandbox(parent: Command, then: Then): void {
  parent
    .command("sandbox")
    .description("serve two sandbox providers to try the ramp with")
    .option("--host <address>", "address to listen on", "127.0.0.1")
    .option("--port <number>", "port to listen on", whole(0, 65_535), 8002)
    .exitOverride()
    .action((flags: { host: string; port: number }) => then(serveSandbox(flags)));
}

async function serveSandbox(flags: { readonly host: string; readonly port: number }): Promise<Outcome> {
  const { SANDBOX_PROVIDERS, startSandbox } = await import("@routewright/runtime/ramp");
  const { url, stop } = await startSandbox(flags);
  const connections = SANDBOX_PROVIDERS.map(
    ({ code, path, keyId, secret }) =>
      `  routewright ramp provider connect --project <id> --provider ${code} --url ${url}${path} --key-id ${keyId} --secret ${secret}`,
  );
  const heading = `Sandbox providers on ${url}; switch misbehaviour on at ${url}/switches. To connect a project:`;
  process.stdout.write(`${[heading, ...connections].join("\n")}\n`);
  await stopSignal();
  await stop();
  return { exit: EXIT.ok };
}
