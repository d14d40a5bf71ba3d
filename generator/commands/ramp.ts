import type { ReplayFilter } from "@routewright/runtime/ramp";
import type { CliCommand } from "./command.js";
import { collect, EXAMPLE_ID, type Flags, type Group, groupOf, text, integerBetween } from "./ramp/group.js";
import { addFinance } from "./ramp/finance.js";
import { addAudit, addIntentActions } from "./ramp/intent-actions.js";
import { addProviders, addProviderTest, addSandbox } from "./ramp/providers.js";
import {
  addIdentityProviders,
  addOrganizations,
  addProjects,
  addSecrets,
  addTokens,
} from "./ramp/projects.js";

/** `routewright ramp …`: the set-up of the ramp on its database (runtime/ramp/docs/operations.md, Set-up). */
export function configureRamp(command: CliCommand): void {
  const group = (name: string, description: string): Group =>
    groupOf(command.command(name).description(description).helpEnd());
  addOrganizations(group("org", "organizations"));
  addProjects(group("project", "projects"));
  addSecrets(group("secret", "client secrets; two of a project may be valid at once"));
  addTokens(group("token", "customers' access tokens"));
  addIdentityProviders(group("idp", "identity providers whose ID tokens a project accepts"));
  const providers = command.command("provider").description("a project's connections to providers").helpEnd();
  addProviders(groupOf(providers));
  addProviderTest(providers);
  addWebhooks(group("webhook", "receivers of a project's events"));
  addKeys(group("key", "keys that sign customer tokens"));
  addVault(group("vault", "the master key that encrypts secrets in the database"));
  addIntents(groupOf(command));
  const intents = group("intent", "intents, their history, and what operators can do about them");
  addIntent(intents);
  addIntentActions(intents);
  addAudit(groupOf(command));
  addFinance(groupOf(command));
  addDoctor(groupOf(command));
  groupOf(command).add("migrate", "update the ramp's database to the newest schema", "", ({ migrated }) =>
    Promise.resolve({ migrated }),
  );
  addSandbox(command);
  command.helpEnd(
    ["ramp org create --name acme", "ramp project list --json", "ramp doctor", "ramp intents --stuck"],
    { 1: "doctor: a check failed" },
  );
}

function addWebhooks({ addForProject }: Group): void {
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
    "change a receiver's address; pending events go to the new one",
    `--webhook ${EXAMPLE_ID} --url https://shop.example/events`,
    ({ ramp, database }, id, flags) =>
      ramp.setWebhook(database, id, { ...addressOf(flags), webhookId: text(flags, "webhook") }),
  )
    .requiredOption("--url <url>", "the receiver's address")
    .requiredOption("--webhook <id>", "the webhook's id")
    .option("--allow-private", "allow private addresses", false)
    .option(...CONCURRENCY)
    .option(...EVENTS);
  addForProject("list", "list receivers", "", ({ ramp, database }, id) =>
    ramp.listRecords(database, "webhooks", id),
  );
  addForProject("delete", "delete a receiver", `--webhook ${EXAMPLE_ID}`, ({ ramp, database }, id, flags) =>
    ramp.deleteWebhook(database, id, text(flags, "webhook")),
  ).requiredOption("--webhook <id>", "the webhook's id");
  addForProject(
    "rotate-secret",
    "print a new signing secret once; both secrets sign until the overlap ends",
    `--webhook ${EXAMPLE_ID} --overlap-hours 48`,
    ({ ramp, database, vault }, id, flags) =>
      ramp.rotateWebhookSecret(database, vault, id, {
        webhookId: text(flags, "webhook"),
        overlapHours: Number(flags["overlapHours"]),
      }),
  )
    .requiredOption("--webhook <id>", "the webhook's id")
    .option("--overlap-hours <hours>", "how long the old secret signs too", integerBetween(0, 720), 24);
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

function addIntents({ add }: Group): void {
  add("intents", "list intents that need attention, with the reason", "--stuck", ({ ramp, database }) =>
    ramp.listStuckIntents(database),
  ).requiredOption("--stuck", "intents whose state stays unclear");
}

function addIntent({ add }: Group): void {
  add(
    "show",
    "show an intent with its history",
    `--intent ${EXAMPLE_ID}`,
    ({ ramp, database, vault }, flags) => ramp.showIntent(database, vault, text(flags, "intent")),
  ).requiredOption("--intent <id>", "the intent's id");
}

/** `routewright ramp doctor`: exit 1 when a check fails. */
function addDoctor({ add }: Group): void {
  add(
    "doctor",
    "check keys, providers, queues and stuck intents; exit 1 when a check fails",
    "--json",
    ({ ramp, database, vault }, flags) =>
      flags["restored"] ? ramp.compareOrders(database, vault) : ramp.diagnose(database, vault),
  )
    .option("--restored", "compare open and recent orders with their providers, after a restore")
    .helpEnd(["ramp doctor", "ramp doctor --restored"], { 1: "a check failed" });
}

function addKeys({ add }: Group): void {
  add(
    "rotate",
    "sign new customer tokens with a new key; older keys keep verifying",
    "",
    ({ ramp, database, vault }) => ramp.rotateKey(database, vault),
  );
  add(
    "revoke",
    "refuse all tokens that a key signed",
    `--kid ${EXAMPLE_ID}`,
    ({ ramp, database, vault }, flags) => ramp.revokeKey(database, vault, text(flags, "kid")),
  ).requiredOption("--kid <id>", "the key's id");
  add("list", "list signing keys by id", "--json", ({ ramp, database }) =>
    ramp.listRecords(database, "keys"),
  );
}

function addVault({ add }: Group): void {
  add(
    "rotate",
    "encrypt all secrets with RAMP_SECRETS_KEY; RAMP_OTHER_SECRETS_KEYS names the key of before",
    "",
    ({ ramp, database, vault }) => ramp.rotateVault(database, vault),
  );
}
