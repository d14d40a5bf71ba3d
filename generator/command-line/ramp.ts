import { type Command, InvalidArgumentError } from "commander";
import type { Outcome } from "../commands/outcome.js";
import type { Then } from "./then.js";

const load = async () => ({
  ...(await import("../commands/ramp.js")),
  ...(await import("@routewright/runtime/ramp")),
});
type Loaded = Awaited<ReturnType<typeof load>>;

const SHOWN_ONCE = "The secret is shown this once.";

interface Flags {
  readonly json: boolean;
  readonly project: string;
}

function whole(min: number, max: number): (text: string) => number {
  return (text) => {
    const number = /^\d{1,9}$/.test(text) ? Number(text) : NaN;
    if (!(number >= min && number <= max))
      throw new InvalidArgumentError(`A whole number from ${String(min)} to ${String(max)}.`);
    return number;
  };
}

const collect = (value: string, before: readonly string[] = []): readonly string[] => [...before, value];

/** `routewright ramp …`: what a dashboard would do, on the ramp's database (decisions.md §B, Set-up). */
export function addRamp(command: Command, then: Then): void {
  command.description(
    "set up the ramp: organizations, projects, providers, identity providers, webhooks, keys",
  );
  addOrganizations(group(command, "org", "organizations"), then);
  addProjects(group(command, "project", "projects"), then);
  addSecrets(group(command, "secret", "client secrets; two of a project may be valid at once"), then);
  addIdentityProviders(group(command, "idp", "identity providers whose ID tokens a project accepts"), then);
  addProviders(group(command, "provider", "a project's connections with providers"), then);
  addWebhooks(group(command, "webhook", "where a project's events go"), then);
  addKeys(group(command, "key", "the keys that sign customer tokens"), then);
  addServers(command, then);
}

function group(command: Command, name: string, description: string): Command {
  return command.command(name).description(description).exitOverride();
}

/** A subcommand with `--json`; `run` gets the flags and what was loaded. */
function leaf(parent: Command, usage: string, description: string): Command {
  return parent.command(usage).description(description).option("--json", "print JSON", false).exitOverride();
}

function projectLeaf(parent: Command, usage: string, description: string): Command {
  return leaf(parent, usage, description).requiredOption("--project <id>", "the project's id");
}

const run =
  <F>(then: Then, action: (loaded: Loaded, flags: F) => Promise<Outcome>) =>
  (flags: F): Promise<void> =>
    then(load().then((loaded) => action(loaded, flags)));

function addOrganizations(parent: Command, then: Then): void {
  leaf(parent, "create", "make an organization")
    .requiredOption("--name <name>", "its name")
    .action(
      run<Flags & { name: string }>(then, (r, flags) =>
        r.setUp(flags, ({ database }) => r.createOrganization(database, flags.name)),
      ),
    );
  leaf(parent, "list", "list organizations").action(
    run<Flags>(then, (r, flags) => r.setUp(flags, ({ database }) => r.listed(r.listOrganizations(database)))),
  );
}

interface ProjectFlags extends Flags {
  readonly org: string;
  readonly name: string;
  readonly ttlSeconds: number;
  readonly pageOrigin?: readonly string[];
}

function addProjects(parent: Command, then: Then): void {
  leaf(parent, "create", "make a project and print its credentials, this once")
    .requiredOption("--org <id>", "the organization's id")
    .requiredOption("--name <name>", "its name")
    .option("--ttl-seconds <seconds>", "added to the expiry of a subject token", whole(0, 31_536_000), 0)
    .option("--page-origin <origin>", "origin that may frame the hosted pages; can be repeated", collect)
    .action(
      run<ProjectFlags>(then, (r, flags) =>
        r.setUp(flags, ({ database }) => r.createProject(database, newProject(flags)), SHOWN_ONCE),
      ),
    );
  leaf(parent, "list", "list projects").action(
    run<Flags>(then, (r, flags) => r.setUp(flags, ({ database }) => r.listed(r.listProjects(database)))),
  );
}

function newProject({ org, name, ttlSeconds, pageOrigin = [] }: ProjectFlags) {
  return { organizationId: org, name, tokenTtlSeconds: ttlSeconds, pageOrigins: pageOrigin };
}

function addSecrets(parent: Command, then: Then): void {
  projectLeaf(parent, "add", "make a second secret and print it, this once").action(
    run<Flags>(then, (r, flags) =>
      r.setUpProject(flags, ({ database }, id) => r.addSecret(database, id), SHOWN_ONCE),
    ),
  );
  projectLeaf(parent, "list", "list secrets by id").action(
    run<Flags>(then, (r, flags) =>
      r.setUpProject(flags, ({ database }, id) => r.listed(r.listSecrets(database, id))),
    ),
  );
  projectLeaf(parent, "revoke", "make a secret invalid")
    .requiredOption("--secret <id>", "the secret's id")
    .action(
      run<Flags & { secret: string }>(then, (r, flags) =>
        r.setUpProject(flags, ({ database }, id) => r.revokeSecret(database, id, flags.secret)),
      ),
    );
}

interface IdentityProviderFlags extends Flags {
  readonly issuer: string;
  readonly audience: readonly string[];
  readonly clockSkew: number;
}

function addIdentityProviders(parent: Command, then: Then): void {
  projectLeaf(parent, "add", "accept the ID tokens of an issuer")
    .requiredOption("--issuer <url>", "the issuer, as its tokens name it")
    .requiredOption("--audience <name>", "an audience that its tokens may have; can be repeated", collect)
    .option("--clock-skew <seconds>", "how far its clock may be off", whole(0, 600), 0)
    .action(
      run<IdentityProviderFlags>(then, (r, flags) =>
        r.setUpProject(flags, ({ database }, id) =>
          r.addIdentityProvider(database, id, {
            issuer: flags.issuer,
            audiences: flags.audience,
            clockSkewSeconds: flags.clockSkew,
          }),
        ),
      ),
    );
  projectLeaf(parent, "list", "list identity providers").action(
    run<Flags>(then, (r, flags) =>
      r.setUpProject(flags, ({ database }, id) => r.listed(r.listIdentityProviders(database, id))),
    ),
  );
}

interface ConnectFlags extends Flags {
  readonly provider: string;
  readonly url: string;
  readonly keyId: string;
  readonly secret: string;
}

function addProviders(parent: Command, then: Then): void {
  projectLeaf(parent, "connect", "connect a provider, or change its credentials")
    .requiredOption("--provider <code>", "the provider's code")
    .requiredOption("--url <url>", "address of its server")
    .requiredOption("--key-id <id>", "the credential's id")
    .requiredOption("--secret <secret>", "the credential's secret; stored encrypted")
    .action(
      run<ConnectFlags>(then, (r, flags) =>
        r.setUpProject(flags, ({ database, vault }, id) => r.connectProvider(database, vault, id, flags)),
      ),
    );
  projectLeaf(parent, "list", "list connections").action(
    run<Flags>(then, (r, flags) =>
      r.setUpProject(flags, ({ database }, id) => r.listed(r.listConnections(database, id))),
    ),
  );
  projectLeaf(parent, "disconnect", "take no new intents to a provider")
    .requiredOption("--provider <code>", "the provider's code")
    .action(
      run<Flags & { provider: string }>(then, (r, flags) =>
        r.setUpProject(flags, ({ database }, id) => r.disconnectProvider(database, id, flags.provider)),
      ),
    );
}

interface WebhookFlags extends Flags {
  readonly url: string;
  readonly allowPrivate: boolean;
}

function addWebhooks(parent: Command, then: Then): void {
  projectLeaf(parent, "set", "set where events go and print the signing secret, this once")
    .requiredOption("--url <url>", "the receiver's address")
    .option("--allow-private", "let events go to private addresses", false)
    .action(
      run<WebhookFlags>(then, (r, flags) =>
        r.setUpProject(
          flags,
          ({ database, vault }, id) => r.setWebhook(database, vault, id, flags),
          SHOWN_ONCE,
        ),
      ),
    );
  projectLeaf(parent, "replay", "deliver once more what is exhausted, or all of one event")
    .option("--event <id>", "the event's id")
    .action(
      run<Flags & { event?: string }>(then, (r, flags) =>
        r.setUpProject(flags, ({ database }, id) => r.replayWebhooks(database, id, flags.event ?? null)),
      ),
    );
}

function addKeys(parent: Command, then: Then): void {
  leaf(parent, "rotate", "sign new customer tokens with a new key; those before it go on verifying").action(
    run<Flags>(then, (r, flags) =>
      r.setUp(flags, ({ database, vault }) => r.listed(r.rotateKey(database, vault))),
    ),
  );
  leaf(parent, "list", "list signing keys by id").action(
    run<Flags>(then, (r, flags) => r.setUp(flags, ({ database }) => r.listed(r.listKeys(database)))),
  );
}

function addServers(parent: Command, then: Then): void {
  leaf(parent, "migrate", "bring the ramp's database to the newest schema").action(
    run<Flags>(then, (r, flags) => r.setUp(flags, ({ migrated }) => r.listed(Promise.resolve({ migrated })))),
  );
  parent
    .command("sandbox")
    .description("run two made-up providers to try the ramp out with")
    .option("--host <address>", "address to listen on", "127.0.0.1")
    .option("--port <number>", "port to listen on", "8002")
    .exitOverride()
    .action(run<{ host: string; port: string }>(then, (r, flags) => r.sandbox(flags)));
}
