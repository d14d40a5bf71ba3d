import { InvalidArgumentError } from "commander";
import type { ProjectSettings, ReplayFilter } from "@routewright/ramp";
import type { CliCommand } from "../command.js";
import { collect, EXAMPLE_ID, type Flags, type Group, list, text, integerBetween } from "./group.js";

export function addOrganizations({ add }: Group): void {
  add("create", "create an organization", "--name Acme", ({ ramp, database }, flags) =>
    ramp.createOrganization(database, text(flags, "name")),
  ).requiredOption("--name <name>", "its name");
  add("list", "list organizations", "--json", ({ ramp, database }) =>
    ramp.listRecords(database, "organizations"),
  );
}

/** The settings that `project create` and `project update` share. */
function withSettings(command: CliCommand): CliCommand {
  return command
    .option(
      "--ttl-seconds <seconds>",
      "added to the expiry of a subject token",
      integerBetween(0, 31_536_000),
    )
    .option(
      "--max-token-seconds <seconds>",
      "longest lifetime of a customer token; 86400 unless set",
      integerBetween(60, 2_592_000),
    )
    .option(
      "--amount-tolerance <percent>",
      "how far a received amount may be from a held price; 0.5 unless set",
    )
    .option("--page-origin <origin>", "origin that may frame the hosted pages; repeatable", collect)
    .option("--redirect-origin <origin>", "origin that redirect URLs may have; repeatable", collect)
    .option("--wallet-domain <host>", "host whose wallet sign-ins are accepted; repeatable", collect);
}

/** The settings that were given. An empty value empties a list. */
function settingsOf(flags: Flags): Partial<ProjectSettings> {
  const lists = {
    pageOrigins: flags["pageOrigin"],
    redirectOrigins: flags["redirectOrigin"],
    walletDomains: flags["walletDomain"],
  };
  const given = Object.entries(lists).filter(([, value]) => value !== undefined);
  return {
    ...Object.fromEntries(given.map(([name, value]) => [name, (value as string[]).filter(Boolean)])),
    ...(flags["amountTolerance"] === undefined ? {} : { amountTolerance: text(flags, "amountTolerance") }),
    ...(flags["ttlSeconds"] === undefined ? {} : { tokenTtlSeconds: Number(flags["ttlSeconds"]) }),
    ...(flags["maxTokenSeconds"] === undefined ? {} : { maxTokenSeconds: Number(flags["maxTokenSeconds"]) }),
  };
}

export function addProjects({ add, addForProject }: Group): void {
  const create = add(
    "create",
    "create a project and print its credentials once",
    `--org ${EXAMPLE_ID} --name Shop --wallet-domain shop.example`,
    ({ ramp, database }, flags) =>
      ramp.createProject(database, {
        organizationId: text(flags, "org"),
        name: text(flags, "name"),
        ...settingsOf(flags),
      }),
  )
    .requiredOption("--org <id>", "the organization's id")
    .requiredOption("--name <name>", "its name");
  withSettings(create);
  const update = addForProject(
    "update",
    "change settings; a repeatable one replaces its list, an empty value empties it",
    '--page-origin https://shop.example --redirect-origin ""',
    ({ ramp, database, vault }, id, flags) =>
      ramp.updateProject({ database, vault }, id, {
        ...settingsOf(flags),
        ...(flags["name"] === undefined ? {} : { name: text(flags, "name") }),
        ...(flags["walletRpc"] === undefined ? {} : { walletRpc: list(flags, "walletRpc").filter(Boolean) }),
      }),
  )
    .option("--name <name>", "its name")
    .option(
      "--wallet-rpc <chain=url>",
      "node that checks signatures of contract wallets, such as 137=https://…; repeatable",
      collect,
    );
  withSettings(update);
  add("list", "list projects", "--json", ({ ramp, database }) => ramp.listRecords(database, "projects"));
}

export function addTokens({ addForProject }: Group): void {
  addForProject(
    "revoke",
    "refuse all tokens that a customer has now",
    `--customer ${EXAMPLE_ID}`,
    ({ ramp, database }, id, flags) => ramp.revokeCustomerTokens(database, id, text(flags, "customer")),
  ).requiredOption("--customer <id>", "the customer's id");
}

export function addSecrets({ addForProject }: Group): void {
  addForProject("add", "create a second secret and print it once", "", ({ ramp, database }, id) =>
    ramp.addSecret(database, id),
  );
  addForProject("list", "list secrets by id", "", ({ ramp, database }, id) =>
    ramp.listRecords(database, "secrets", id),
  );
  addForProject("revoke", "revoke a secret", `--secret ${EXAMPLE_ID}`, ({ ramp, database }, id, flags) =>
    ramp.revokeSecret(database, id, text(flags, "secret")),
  ).requiredOption("--secret <id>", "the secret's id");
}

export function addIdentityProviders({ addForProject }: Group): void {
  addForProject(
    "add",
    "accept the ID tokens of an issuer",
    "--issuer https://login.example --audience shop",
    ({ ramp, database }, id, flags) => {
      const add = flags["unchecked"] === true ? ramp.registerIdentityProvider : ramp.addIdentityProvider;
      return add(database, id, {
        issuer: text(flags, "issuer"),
        audiences: list(flags, "audience"),
        clockSkewSeconds: Number(flags["clockSkew"]),
        jwksUrl: (flags["jwksUrl"] as string | undefined) ?? null,
        allowHttp: flags["allowHttp"] === true,
      });
    },
  )
    .requiredOption("--issuer <name>", "the issuer, as its tokens name it")
    .requiredOption("--audience <name>", "an audience that its tokens may have; repeatable", collect)
    .option("--jwks-url <url>", "where its keys are; default: its discovery document says it")
    .option("--allow-http", "allow http:// addresses of other machines, such as inside a cluster", false)
    .option("--unchecked", "do not read its keys now, such as before it is up", false)
    .option("--clock-skew <seconds>", "tolerated difference between the clocks", integerBetween(0, 600), 0);
  addForProject(
    "remove",
    "accept no more tokens of an issuer",
    "--issuer https://login.example",
    ({ ramp, database }, id, flags) => ramp.removeIdentityProvider(database, id, text(flags, "issuer")),
  ).requiredOption("--issuer <url>", "the issuer");
  addForProject("list", "list identity providers", "", ({ ramp, database }, id) =>
    ramp.listRecords(database, "identityProviders", id),
  );
}

export function addWebhooks({ addForProject }: Group): void {
  addForProject(
    "add",
    "add a receiver of events and print the signing secret once",
    "--url https://shop.example/events",
    ({ ramp, database, vault }, id, flags) => ramp.addWebhook(database, vault, id, addressOf(flags)),
  )
    .requiredOption("--url <url>", "the receiver's address")
    .option("--allow-private", "allow private addresses", false)
    .option(...CONCURRENCY)
    .option(...EVENTS);
  addForProject(
    "set",
    "change a receiver's address and switch it on; pending events go to the new one",
    `--webhook ${EXAMPLE_ID} --url https://shop.example/events`,
    ({ ramp, database }, id, flags) =>
      ramp.setWebhook(database, id, { ...addressOf(flags), webhookId: text(flags, "webhook") }),
  )
    .requiredOption("--url <url>", "the receiver's address")
    .requiredOption(...WEBHOOK)
    .option("--allow-private", "allow private addresses", false)
    .option(...CONCURRENCY)
    .option(...EVENTS);
  addForProject("list", "list receivers, and those that get nothing", "", ({ ramp, database }, id) =>
    ramp.listWebhooks(database, id),
  );
  for (const [name, what, enabled] of [
    ["disable", "switch a receiver off: it gets nothing, and what waits for it is dropped", false],
    ["enable", "switch a receiver on again", true],
  ] as const)
    addForProject(name, what, `--webhook ${EXAMPLE_ID}`, ({ ramp, database }, id, flags) =>
      ramp.switchWebhook(database, id, text(flags, "webhook"), enabled),
    ).requiredOption(...WEBHOOK);
  addForProject(
    "ping",
    "send a receiver an event of the type webhook.test",
    `--webhook ${EXAMPLE_ID}`,
    ({ ramp, database }, id, flags) => ramp.pingWebhook(database, id, text(flags, "webhook")),
  ).requiredOption(...WEBHOOK);
  addForProject("delete", "delete a receiver", `--webhook ${EXAMPLE_ID}`, ({ ramp, database }, id, flags) =>
    ramp.deleteWebhook(database, id, text(flags, "webhook")),
  ).requiredOption(...WEBHOOK);
  addForProject(
    "rotate-secret",
    "print a new signing secret once; both secrets sign until the overlap ends",
    `--webhook ${EXAMPLE_ID} --overlap-hours 48`,
    ({ ramp, database, vault }, id, flags) =>
      ramp.rotateWebhookSecret(database, vault, id, {
        webhookId: text(flags, "webhook"),
        overlapHours: Number(flags["overlapHours"]),
        key: flags["idempotencyKey"] as string | undefined,
      }),
  )
    .requiredOption(...WEBHOOK)
    .option("--overlap-hours <hours>", "how long the old secret signs too", integerBetween(0, 720), 24)
    .option(
      "--idempotency-key <text>",
      "repeated with it within 24 hours, prints the same secret",
      idempotencyKey,
    );
  addForProject(
    "replay",
    "deliver events again; default: the exhausted ones",
    "--since 2026-06-01T00:00:00Z --status EXHAUSTED",
    ({ ramp, database }, id, flags) => ramp.replayWebhooks(database, id, flags as ReplayFilter),
  )
    .option("--event <id>", "one event")
    .option("--since <time>", "events from this time on")
    .option("--until <time>", "events up to this time")
    .option("--status <status>", "PENDING, DELIVERED or EXHAUSTED");
}

const addressOf = (flags: Flags) => ({
  url: text(flags, "url"),
  allowPrivate: flags["allowPrivate"] === true,
  concurrency: flags["concurrency"] as number | undefined,
  eventTypes: flags["event"] as readonly string[] | undefined,
});

/** As the header of HTTP. */
function idempotencyKey(given: string): string {
  if (given === "" || given.length > 256) throw new InvalidArgumentError("1 to 256 characters.");
  return given;
}

const WEBHOOK = ["--webhook <id>", "the webhook's id"] as const;

const CONCURRENCY = [
  "--concurrency <number>",
  "deliveries at a time; 10 unless set",
  integerBetween(1, 100),
] as const;

const EVENTS = [
  "--event <type>",
  "a type of events that it gets; repeatable, default: all",
  collect,
] as const;
