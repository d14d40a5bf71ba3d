import { succeeded } from "@routewright/runtime/model";
import { readFileSync } from "node:fs";
import type { CliCommand } from "./command.js";
import { withProgress } from "./progress.js";
import {
  type CommandContext,
  either,
  EXAMPLE_ID,
  type Flags,
  type Group,
  groupOf,
  integerBetween,
  sequenceOf,
  text,
} from "./ramp/group.js";
import {
  addIdentityProviders,
  addOrganizations,
  addProjects,
  addSecrets,
  addTokens,
  addWebhooks,
} from "./ramp/projects.js";
import { addProviders, addProviderTest, addSandbox } from "./ramp/providers.js";

/** `routewright ramp …`: the set-up of the ramp on its database (runtime/ramp/docs/operations.md, Set-up). */
export function configure(command: CliCommand): void {
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
  addIntent(group("intent", "intents, their history, and what operators can do about them"));
  addAudit(groupOf(command));
  addFinance(groupOf(command));
  addDoctor(groupOf(command));
  groupOf(command)
    .add("migrate", "update the ramp's database to the newest schema", "", ({ migrated }) =>
      Promise.resolve({ migrated }),
    )
    .option(
      "--events-after <sequence>",
      "after a restore: events go on above this sequence, or above this time",
      sequenceOf,
    );
  addSandbox(command);
  command.helpEnd(
    ["ramp org create --name acme", "ramp project list --json", "ramp doctor", "ramp intents --stuck"],
    { 1: "doctor: a check failed" },
  );
}

function addIntents({ add }: Group): void {
  add("intents", "list intents that need attention, with the reason", "--stuck", ({ ramp, database }) =>
    withProgress("Looking for stuck intents", () => ramp.listStuckIntents(database)),
  ).requiredOption("--stuck", "intents whose state stays unclear");
}

/** `routewright ramp doctor`: exit 1 when a check fails. */
function addDoctor({ add }: Group): void {
  add(
    "doctor",
    "check keys, providers, queues and stuck intents; exit 1 when a check fails",
    "--json",
    ({ ramp, database, vault }, flags) =>
      flags["restored"]
        ? withProgress("Comparing orders", (progress) => ramp.compareOrders(database, vault, progress))
        : ramp.diagnose(database, vault),
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
    ({ ramp, database, vault }) =>
      withProgress("Encrypting secrets", (progress) => ramp.rotateVault(database, vault, progress)),
  );
}

const INTENT = ["--intent <id>", "the intent's id"] as const;
const NOTE = ["--note <text>", "why; recorded with your name"] as const;

/** What operators can do about an intent; each action is recorded (runtime/ramp/docs/operations.md). */
function addIntent({ add }: Group): void {
  add(
    "show",
    "show an intent with its history",
    `--intent ${EXAMPLE_ID}`,
    ({ ramp, database, vault }, flags) => ramp.showIntent(database, vault, text(flags, "intent")),
  ).requiredOption(...INTENT);
  const example = `--intent ${EXAMPLE_ID} --note "ticket 4711"`;
  add(
    "poll",
    "look an intent up at its provider now; a running server does it",
    example,
    ({ ramp, database }, flags) => ramp.pollIntent(database, text(flags, "intent")),
  )
    .requiredOption(...INTENT)
    .option(...NOTE);
  add("cancel", "cancel an intent, at its provider too", example, ({ ramp, database }, flags) =>
    ramp.cancelIntent(database, text(flags, "intent")),
  )
    .requiredOption(...INTENT)
    .requiredOption(...NOTE);
  add(
    "resolve",
    "record how an intent ended that needs attention",
    `${example} --as completed`,
    ({ ramp, database }, flags) =>
      ramp.resolveIntent(database, text(flags, "intent"), {
        as: flags["as"] as "completed" | "failed",
        note: text(flags, "note"),
      }),
  )
    .requiredOption(...INTENT)
    .requiredOption("--as <end>", "completed or failed", either("completed", "failed"))
    .requiredOption(...NOTE);
  add(
    "refund",
    "refund a payment, where the provider offers it; a running server does it",
    `${example} --amount 10.00`,
    ({ ramp, database }, flags) =>
      ramp.refundIntent(database, text(flags, "intent"), {
        amount: (flags["amount"] as string | undefined) ?? null,
        reason: text(flags, "note"),
      }),
  )
    .requiredOption(...INTENT)
    .option("--amount <amount>", "in the source currency; default: what is left")
    .requiredOption("--note <text>", "why; a repeated note is the same refund");
  add(
    "cancel-refund",
    "cancel a refund, at its provider too where it is sent; a running server does it",
    `${example} --refund ${EXAMPLE_ID}`,
    ({ ramp, database }, flags) => ramp.cancelRefund(database, text(flags, "intent"), text(flags, "refund")),
  )
    .requiredOption(...INTENT)
    .requiredOption("--refund <id>", "the refund, as `ramp intent show` lists it")
    .requiredOption(...NOTE);
}

/** `routewright ramp audit`: who changed what, when and why. */
function addAudit({ add }: Group): void {
  add(
    "audit",
    "list what operators changed, newest first",
    "--limit 20",
    ({ ramp, database }, flags: Flags) =>
      ramp.listAudit(database, { intentId: text(flags, "intent") || null, limit: Number(flags["limit"]) }),
  )
    .option("--intent <id>", "actions on this intent")
    .option("--limit <number>", "at most so many", integerBetween(1, 1_000), 50);
}

/** The project of `--project`; null without the flag. */
async function projectOrAll({ ramp, database }: CommandContext, flags: Flags) {
  const project = text(flags, "project");
  return project === "" ? succeeded(null) : ramp.findProject(database, project);
}

const periodOf = (flags: Flags) => ({
  from: text(flags, "from") || null,
  until: text(flags, "until") || null,
});

/** `ramp report`, `ramp balances` and `ramp reconcile` (runtime/ramp/docs/finance.md). */
function addFinance({ add, addForProject }: Group): void {
  const report = add(
    "report",
    "the journal by day, project, provider and currency",
    "--from 2026-06-01 --until 2026-07-01 --format csv",
    async (context, flags) => {
      const { ramp, database } = context;
      const id = await projectOrAll(context, flags);
      if (!id.ok) return id;
      const rows = await withProgress("Reading postings", () =>
        ramp.reportPostings(database, id.value, periodOf(flags)),
      );
      if (!rows.ok || flags["format"] !== "csv") return rows;
      return { csv: ramp.csvOf(rows.value) };
    },
  )
    .option("--project <id>", "postings of this project")
    .option("--format <format>", "text or csv; --json prints JSON", either("text", "csv"), "text");
  const compare = addForProject(
    "reconcile",
    "compare a provider's statement with the ramp; exit 1 on differences",
    "--provider coinway --statement june.csv",
    ({ ramp, database }, id, flags) =>
      withProgress("Comparing the statement", () =>
        ramp.reconcile(database, id, {
          ...periodOf(flags),
          provider: text(flags, "provider"),
          statement: readFileSync(text(flags, "statement"), "utf8"),
        }),
      ).then((result) =>
        result.ok ? succeeded(result.value.map((row) => ({ ok: false, ...row }))) : result,
      ),
  )
    .requiredOption("--provider <code>", "the provider's code")
    .requiredOption(
      "--statement <file>",
      "CSV with a column id and any of status, srcAmount, amountReceived, totalFee, refunded",
    );
  report
    .option("--from <time>", "postings at or after this time")
    .option("--until <time>", "postings before this time");
  compare
    .option("--from <time>", "payments at or after this time, by the provider's date where it names one")
    .option("--until <time>", "payments before this time");
  add(
    "balances",
    "what is on each account of the journal now, amounts under attention by their reason",
    "--json",
    async (context, flags) => {
      const id = await projectOrAll(context, flags);
      if (!id.ok) return id;
      return withProgress("Adding postings up", () => context.ramp.listBalances(context.database, id.value));
    },
  ).option("--project <id>", "accounts of this project");
}
