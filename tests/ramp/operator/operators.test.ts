/** What operators can do about intents that need them: each command, recorded, until the doctor is green. */
import { afterEach, expect, it } from "vitest";
import type { Attention, AttentionReason } from "../../../runtime/ramp/intents/intent.js";
import { showIntent } from "../../../runtime/ramp/operator/diagnostics.js";
import { startRamp } from "../../../runtime/ramp/start-ramp.js";
import {
  CARD_CAPABILITIES,
  cardOnramp,
  type CardProvider,
  FEES,
  ownCards,
} from "../support/card-provider.js";
import { json, routewright } from "../support/command-line.js";
import { SERVER } from "../support/server.js";
import { eventually, FAST, made, ownDatabase, ownWorld, SECRETS_KEY, untilTrue } from "../support/world.js";

/** Most of a test is waiting for the next poll. */
const QUICK = { ...FAST, compliancePollMs: 100, executionPollMs: 100, maxPollMs: 150, maxBackoffMs: 150 };
const world = await ownWorld({ polling: { ...QUICK, attentionAfter: 3 } });
process.env["DATABASE_URL"] = world.databaseUrl;
process.env["RAMP_SECRETS_KEY"] = SECRETS_KEY.toString("hex");
process.env["RAMP_OPERATOR"] = "ada";

// The provider of a test ends with it.
afterEach(async () => {
  await world.rows("UPDATE ramp.provider_connections SET enabled = false");
  await world.rows(
    "UPDATE ramp.intents SET next_poll_at = NULL, lease_owner = NULL, attention = '{}', attention_since = NULL",
  );
});

async function intentAt(settings: Partial<CardProvider> = {}) {
  const { project, provider, create } = await ownCards(world, settings);
  const { json: created, text } = await create();
  expect(created.intent?.id, text).toBeTruthy();
  return { id: String(created.intent.id), project, provider };
}
type Stuck = Awaited<ReturnType<typeof intentAt>>;

interface Shown {
  readonly status: string;
  readonly attention: Attention;
  readonly answers: readonly { readonly operation: string; readonly answer: unknown }[];
  readonly actions: readonly Record<string, unknown>[];
}
/** What `intent show` prints. A command for each look would wait for a session of its own. */
const show = async (id: string): Promise<Shown> =>
  JSON.parse(JSON.stringify(made(await showIntent(world.database, world.vault, id)))) as Shown;
const shows = (id: string, isExpected: (shown: Shown) => boolean) =>
  eventually(() => show(id), isExpected, undefined, 50);
const needs = (id: string, code: string) => shows(id, ({ attention }) => code in attention);
const note = ["--note", "ticket 4711"];

const RECEIPT = { amountReceived: "99" };
const PAID: Partial<CardProvider> = { status: "SUCCESS", execution: { receipt: RECEIPT } };
const KINDS: readonly (readonly [AttentionReason, Partial<CardProvider>, Partial<CardProvider> | null])[] = [
  ["AMOUNT_MISMATCH", { status: "SUCCESS", execution: { receipt: { amountReceived: "1" } } }, null],
  ["LATE_PAYMENT", { status: "FAILED" }, { status: "SUCCESS" }],
  ["CHARGEBACK", PAID, { status: "FAILED" }],
  ["RECEIPT_MISSING", { status: "SUCCESS" }, null],
  ["CONTRADICTION", PAID, { status: "PROCESSING" }],
  ["CONTRADICTION", { status: "FAILED", execution: { receipt: RECEIPT } }, PAID],
  ["REFERENCE_CHANGED", PAID, { execution: { receipt: RECEIPT, reference: "another" } }],
  [
    "FEE_MISMATCH",
    {
      status: "SUCCESS",
      execution: { receipt: { ...RECEIPT, fees: { ...FEES, totalFee: "9.00", networkFee: "8.00" } } },
    },
    null,
  ],
  ["RECEIPT_CHANGED", PAID, { execution: { receipt: { amountReceived: "98" } } }],
  [
    "REFUND_MISMATCH",
    PAID,
    { execution: { receipt: RECEIPT, refunds: [{ id: "r", amount: "999", reason: "" }] } },
  ],
  [
    "INVALID_INSTRUCTIONS",
    {
      status: "AWAITING_FUNDS",
      execution: { instructions: [{ encoding: "DISPLAY", type: "BANK", details: { amount: "7" } }] },
    },
    null,
  ],
  ["PROVIDER_FAILS", {}, { keyId: "rotated" }],
];

const sentOrders = ({ provider }: Stuck) =>
  [...provider.bodies.keys()].filter((key) => key.startsWith("execution:"));
/** The intent as it was before its order. */
const restore = (id: string, before: string) =>
  world.rows(`SET session_replication_role = replica; DELETE FROM ramp.postings WHERE intent_id = '${id}';
     DELETE FROM ramp.transactions WHERE intent_id = '${id}';
     UPDATE ramp.intents SET next_poll_at = NULL, lease_owner = NULL, lease_expires_at = NULL, ${before} WHERE id = '${id}'`);

it("a database restored to before an order names it, and sends the same order again", async () => {
  const paid = await paidIntent();
  const { id } = paid;
  await restore(id, "status = 'PENDING_PAYMENT'");
  const found = await routewright("doctor", "--restored");
  expect(found.exit, found.error).toBe(1);
  expect(found.out).toContain(id);
  expect(found.out).toContain("Only cards knows the order: it is SUCCESS there.");
  await json("intent", "poll", "--intent", id);
  await shows(id, ({ status }) => status === "COMPLETED");
  expect(sentOrders(paid)).toHaveLength(1);
  const after = await routewright("doctor", "--restored");
  expect(after.out).not.toContain(id);
});

it.each([
  ["a cancel", "status = 'PENDING_PAYMENT'", true],
  ["a cancel before compliance and price", "status = 'PENDING', price = NULL", true],
  ["its expiry", "status = 'PENDING_PAYMENT', auto_execute = false, expires_at = now()", false],
])("after a restore to before its order a paid intent survives %s", async (_name, before, isCancelled) => {
  const paid = await paidIntent();
  const { id } = paid;
  await restore(id, before);
  await json("intent", ...(isCancelled ? ["cancel", ...note] : ["poll"]), "--intent", id);
  const { attention } = await shows(id, ({ status }) => status === "COMPLETED");
  expect(attention).toEqual({});
  expect(sentOrders(paid)).toHaveLength(1);
  const { out } = await routewright("balances", "--project", paid.project.projectId, "--json");
  expect(JSON.parse(out)).toContainEqual(
    expect.objectContaining({ account: "provider", currency: "USD", amount: "100" }),
  );
});

interface NeedsAttention extends Pick<Stuck, "id" | "provider"> {
  readonly code: AttentionReason;
  /** How the operator ends it. */
  readonly as: "completed" | "failed";
}

async function needsAttention([code, first, then]: (typeof KINDS)[number], as: NeedsAttention["as"]) {
  const { id, provider } = await intentAt(first);
  if (then !== null) {
    await shows(id, ({ answers }) => answers.some(({ operation }) => operation === "checkExecution"));
    Object.assign(provider, then);
  }
  await needs(id, code);
  return { code, as, id, provider };
}

async function resolve({ code, as, id, provider }: NeedsAttention): Promise<void> {
  await json("intent", "resolve", "--intent", id, "--as", as, ...note);
  // The look-up that follows changes nothing: what the provider says is known.
  await json("intent", "poll", "--intent", id);
  const { attention, status, actions } = await shows(id, ({ actions: all }) => all.length === 2);
  const end = as === "completed" ? "COMPLETED" : "TRANSACTION_FAILED";
  expect([code, as, attention, status]).toEqual([code, as, {}, end]);
  expect(actions.at(-1)).toMatchObject({
    actor: "ada",
    action: "intent resolve",
    note: "ticket 4711",
    outcome: "done",
    arguments: { as },
  });
  provider.keyId = "key";
}

it(
  "intents that need attention, for any reason, are resolved as completed or failed; then the doctor is green",
  { timeout: 400_000 },
  async () => {
    const stuck = async (all: readonly NeedsAttention[]): Promise<readonly AttentionReason[]> => {
      const { out } = await routewright("intents", "--stuck");
      return all.filter(({ id }) => out.includes(id)).map(({ code }) => code);
    };
    const ends = ["completed", "failed"] as const;
    const all = await Promise.all(KINDS.flatMap((kind) => ends.map((as) => needsAttention(kind, as))));
    expect((await routewright("doctor")).exit).toBe(1);
    expect(await stuck(all)).toEqual(all.map(({ code }) => code));
    // Each command opens a session: PostgreSQL may take its time for two dozen at once.
    for (const one of all) await resolve(one);
    expect(await stuck(all)).toEqual([]);
    const { exit, out } = await routewright("doctor");
    expect(exit, out).toBe(0);
  },
);

it("an intent is cancelled", async () => {
  const { id, provider } = await intentAt({ status: "AWAITING_FUNDS" });
  await json("intent", "cancel", "--intent", id, ...note);
  // Not before: a look-up could end the intent before the command does.
  provider.status = "CANCELLED";
  await shows(id, ({ status }) => status === "CANCELLED");
  const shown = await json("intent", "show", "--intent", id);
  expect(shown).toMatchObject({ status: "CANCELLED", actions: [{ action: "intent cancel" }] });
  const none = await routewright("intent", "refund", "--intent", id, ...note);
  expect(none).toMatchObject({ exit: 2, error: expect.stringContaining("Only a payment that is SUCCESS") });
});

async function paidIntent(settings: Partial<CardProvider> = {}): Promise<Stuck> {
  const paid = await intentAt({
    ...PAID,
    capabilities: { ...CARD_CAPABILITIES, refunds: true },
    ...settings,
  });
  await shows(paid.id, ({ status }) => status === "COMPLETED");
  return paid;
}
const refund = (id: string, why: string, ...more: string[]) =>
  routewright("intent", "refund", "--intent", id, "--note", why, ...more);
const sent = ({ provider }: Stuck) => [...provider.bodies.keys()].filter((key) => key.startsWith("refund:"));
/** Waits until so much is posted as refunded. */
const posted = (id: string, amount: number) =>
  untilTrue(() =>
    world.holds(
      "SELECT sum(-amount) = $2 FROM ramp.postings WHERE intent_id = $1 AND account = 'provider' AND about LIKE 'refund %'",
      [id, amount],
    ),
  );

it("a payment is refunded in parts, one refund for each note, and never more than was paid", async () => {
  const paid = await paidIntent();
  const { id } = paid;
  for (const amount of ["60.001", "0", "-1", "abc", "1e2", ""]) {
    const refused = await refund(id, `wrong ${amount}`, `--amount=${amount}`);
    expect([amount, refused.exit]).toEqual([amount, 2]);
  }
  const over = await refund(id, "too much", "--amount", "100.01");
  expect(over.error).toContain("Only 100.00 USD are left");
  const twice = await Promise.all([1, 2].map(() => refund(id, "first", "--amount", "30.00")));
  expect(twice.map(({ exit }) => exit)).toEqual([0, 0]);
  const both = await Promise.all(["second", "third"].map((why) => refund(id, why, "--amount", "70.00")));
  expect(both.map(({ exit }) => exit).sort()).toEqual([0, 2]);
  await posted(id, 100);
  expect(sent(paid)).toHaveLength(2);
  const other = await refund(id, "first", "--amount", "31.00");
  expect(other.error).toContain("A refund of 30.00 has this reason");
  const { out } = await routewright("audit", "--intent", id, "--json");
  expect(JSON.parse(out)).toContainEqual(
    expect.objectContaining({
      note: "first",
      outcome: expect.stringMatching(/^done: 30.00, [0-9a-f-]{36}$/),
    }),
  );
});

it("a refund whose answer is lost is sent again under its id; a refused one needs attention", async () => {
  const paid = await paidIntent();
  paid.provider.keyId = "rotated";
  expect((await refund(paid.id, "lost", "--amount", "10.00")).exit).toBe(0);
  await untilTrue(() => world.holds("SELECT failed_attempts > 0 FROM ramp.intents WHERE id = $1", [paid.id]));
  paid.provider.keyId = "key";
  await posted(paid.id, 10);
  expect(sent(paid)).toHaveLength(1);
  paid.provider.refusesRefunds = true;
  expect((await refund(paid.id, "refused")).exit).toBe(0);
  await needs(paid.id, "REFUND_REFUSED");
  await json("intent", "resolve", "--intent", paid.id, "--as", "completed", ...note);
  const { attention } = await shows(paid.id, ({ status }) => status === "COMPLETED");
  expect(attention).toEqual({});
});

it("a failed end that an operator recorded does not hide what the provider reports later", async () => {
  const { id, provider } = await intentAt({ status: "PROCESSING" });
  provider.keyId = "rotated";
  await needs(id, "PROVIDER_FAILS");
  await json("intent", "resolve", "--intent", id, "--as", "failed", ...note);
  Object.assign(provider, { keyId: "key", status: "SUCCESS", execution: { receipt: RECEIPT } });
  await json("intent", "poll", "--intent", id);
  const { attention, status } = await needs(id, "LATE_PAYMENT");
  expect([attention.LATE_PAYMENT, status]).toEqual([
    "delivery 99 USDC_POLYGON, payment 100 USD",
    "TRANSACTION_FAILED",
  ]);
});

it("open intents go on with new credentials of the same account after its key was changed", async () => {
  const { id, project, provider } = await intentAt({ status: "PROCESSING" });
  await shows(id, ({ answers }) => answers.some(({ operation }) => operation === "checkExecution"));
  provider.keyId = "key_2";
  expect((await needs(id, "PROVIDER_FAILS")).attention.PROVIDER_FAILS).toContain("status 401");
  made(await provider.connect(world, project));
  Object.assign(provider, PAID);
  await shows(id, ({ status, attention }) => status === "COMPLETED" && Object.keys(attention).length === 0);
});

it("an acknowledged order that the provider no longer knows needs attention, and is not cancelled", async () => {
  const { id, provider } = await intentAt({ status: "PROCESSING" });
  await shows(id, ({ answers }) => answers.some(({ operation }) => operation === "checkExecution"));
  provider.received.clear();
  provider.refusesCancels = true;
  await json("intent", "cancel", "--intent", id, ...note);
  const { status } = await needs(id, "UNKNOWN_ORDER");
  expect(status).toBe("TRANSACTION_IN_PROGRESS");
});

it("intent show prints numbers of metadata to the last digit", async () => {
  const { auth } = await ownCards(world, {});
  const metadata = '{"order": 12345678901234567891, "parts": [0.1234567890123456789]}';
  const body = JSON.stringify(cardOnramp({ metadata: 0 })).replace('"metadata":0', `"metadata":${metadata}`);
  const { json: created } = await world.call("POST", "/v1/intent", { auth, text: body });
  for (const form of [[], ["--json"]]) {
    const { out } = await routewright("intent", "show", "--intent", String(created.intent.id), ...form);
    expect(out).toMatch(/"order": ?12345678901234567891,/);
    expect(out).toContain("0.1234567890123456789");
  }
});

it("every command that changes something is recorded, without secrets", async () => {
  const { organizationId = "" } = await json("org", "create", "--name", "Acme");
  const shop = ["--org", organizationId, "--name", "Shop"];
  const { projectId = "", clientSecret = "" } = await json("project", "create", ...shop);
  const target = ["--provider", "x", "--url", "http://127.0.0.1:9"];
  const connect = ["provider", "connect", "--project", projectId, ...target];
  const failed = await routewright(...connect, "--key-id", "k", "--secret", "hidden-secret");
  expect(failed.exit).toBe(2);
  const { out } = await routewright("audit", "--json", "--limit", "10");
  expect(out).not.toContain("hidden-secret");
  expect(out).not.toContain(clientSecret);
  expect(JSON.parse(out)).toEqual([
    expect.objectContaining({
      action: "provider connect",
      projectId,
      outcome: expect.stringContaining("no valid answer"),
    }),
    expect.objectContaining({ action: "project create", outcome: "done" }),
    expect.objectContaining({ action: "org create", actor: "ada", outcome: "done" }),
    ...Array.from({ length: 7 }, () => expect.anything()),
  ]);
});

it("a server whose master key opens nothing does not start", async () => {
  const options = { ...SERVER, secretsKey: Buffer.alloc(32, 99) };
  await expect(startRamp({ ...options, databaseUrl: world.databaseUrl })).rejects.toThrow(
    "RAMP_SECRETS_KEY is not the key of this database",
  );
  // A database without secrets takes any key.
  const fresh = await startRamp({ ...options, databaseUrl: await ownDatabase() });
  await fresh.stop();
});
