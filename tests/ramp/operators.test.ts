/** What operators can do about intents that need them: each command, recorded, until the doctor is green. */
import { afterEach, describe, expect, it } from "vitest";
import { createLogger } from "../../runtime/server/logger.js";
import { clientAddress } from "../../runtime/server/headers.js";
import { startRamp } from "../../runtime/ramp/start-ramp.js";
import {
  CARD_CAPABILITIES,
  cardOnramp,
  type CardProvider,
  ownCardProvider,
} from "./support/card-provider.js";
import { json, routewright } from "./support/command-line.js";
import {
  eventually,
  FAST,
  made,
  newCustomer,
  ownDatabase,
  ownerRows,
  ownWorld,
  SECRETS_KEY,
  type TestProject,
} from "./support/world.js";

const world = await ownWorld({ polling: { ...FAST, attentionAfter: 3 } });
process.env["DATABASE_URL"] = world.databaseUrl;
process.env["RAMP_SECRETS_KEY"] = SECRETS_KEY.toString("hex");
process.env["RAMP_OPERATOR"] = "ada";

// The provider of a test ends with it.
afterEach(async () => {
  await ownerRows(world.databaseUrl, "UPDATE ramp.provider_connections SET enabled = false");
  await ownerRows(
    world.databaseUrl,
    "UPDATE ramp.intents SET next_poll_at = NULL, lease_owner = NULL, attention_reason = NULL, attention_since = NULL",
  );
});

interface Stuck {
  readonly id: string;
  readonly project: TestProject;
  readonly provider: CardProvider;
}

async function intentAt(settings: Partial<CardProvider> = {}): Promise<Stuck> {
  const project = await world.project({ providers: [] });
  const provider = Object.assign(await ownCardProvider(), settings);
  made(await provider.connect(world, project));
  const auth = await newCustomer(world, project);
  const { json: made_, text } = await world.call("POST", "/v1/intent", { auth, body: cardOnramp() });
  expect(made_.intent?.id, text).toBeTruthy();
  return { id: String(made_.intent.id), project, provider };
}

interface Shown {
  readonly status: string;
  readonly attention: string | null;
  readonly answers: readonly { readonly operation: string; readonly answer: unknown }[];
  readonly actions: readonly Record<string, unknown>[];
}
const show = async (id: string): Promise<Shown> =>
  (await json("intent", "show", "--intent", id)) as unknown as Shown;
const shows = (id: string, isExpected: (shown: Shown) => boolean) =>
  eventually(() => show(id), isExpected, 40_000, 200);
const needs = (id: string, code: string) =>
  shows(id, ({ attention }) => attention?.startsWith(code) === true);
const note = ["--note", "ticket 4711"];

async function expectHealthy(): Promise<void> {
  const { exit, out } = await routewright("doctor");
  expect(exit, out).toBe(0);
}

const RECEIPT = { amountReceived: "99" };
const KINDS: readonly (readonly [string, Partial<CardProvider>, Partial<CardProvider> | null])[] = [
  ["AMOUNT_MISMATCH", { status: "SUCCESS", execution: { receipt: { amountReceived: "1" } } }, null],
  ["CONTRADICTION", { status: "FAILED" }, { status: "SUCCESS" }],
  [
    "RECEIPT_CHANGED",
    { status: "SUCCESS", execution: { receipt: RECEIPT } },
    { execution: { receipt: { amountReceived: "98" } } },
  ],
  [
    "REFUND_MISMATCH",
    { status: "SUCCESS", execution: { receipt: RECEIPT } },
    { execution: { receipt: RECEIPT, refunds: [{ id: "r", amount: "999", reason: "" }] } },
  ],
  [
    "INVALID_INSTRUCTIONS",
    {
      status: "AWAITING_FUNDS",
      execution: {
        instructions: [{ encoding: "DISPLAY", type: "BANK", details: { amount: "7" } }],
      },
    },
    null,
  ],
  ["PROVIDER_FAILS", {}, { keyId: "rotated" }],
];

describe.each(KINDS)("an intent that needs attention for %s", (code, first, then) => {
  it.each(["completed", "failed"])("is resolved as %s, and the doctor is green", async (as) => {
    const { id, provider } = await intentAt(first);
    if (then !== null) {
      await shows(id, ({ answers }) => answers.some(({ operation }) => operation === "checkExecution"));
      Object.assign(provider, then);
    }
    await needs(id, code);
    expect((await routewright("doctor")).exit).toBe(1);
    await json("intent", "resolve", "--intent", id, "--as", as, ...note);
    // The look-up that follows changes nothing: what the provider says is known.
    await json("intent", "poll", "--intent", id);
    const { attention, status, actions } = await shows(id, ({ actions: all }) => all.length === 2);
    expect(attention).toBeNull();
    expect(status).toBe(as === "completed" ? "COMPLETED" : "TRANSACTION_FAILED");
    expect(actions.at(-1)).toMatchObject({
      actor: "ada",
      action: "intent resolve",
      note: "ticket 4711",
      outcome: "done",
      arguments: { as },
    });
    if (code !== "PROVIDER_FAILS") return expectHealthy();
    expect((await routewright("intents", "--stuck")).out).not.toContain(id);
    provider.keyId = "key";
  });
});

it("open intents go to new credentials of the provider after its key was changed", async () => {
  const { id, project, provider } = await intentAt();
  provider.keyId = "key_2";
  const { attention } = await needs(id, "PROVIDER_FAILS");
  expect(attention).toContain("status 401");
  made(await provider.connect(world, project));
  const repoint = ["intent", "repoint", "--project", project.id, "--provider", "cards", ...note];
  expect((await routewright(...repoint, "--key-id", "none")).error).toContain("no credentials none");
  expect(await json(...repoint, "--key-id", "key_2")).toEqual({ repointed: 1 });
  provider.status = "SUCCESS";
  await shows(id, (shown) => shown.status === "COMPLETED" && shown.attention === null);
  await expectHealthy();
});

it("an intent is cancelled, and a payment refunded in parts", async () => {
  const cancelled = await intentAt({ status: "AWAITING_FUNDS" });
  cancelled.provider.status = "CANCELLED";
  await json("intent", "cancel", "--intent", cancelled.id, ...note);
  await shows(cancelled.id, ({ status }) => status === "CANCELLED");

  const paid = await intentAt({
    status: "SUCCESS",
    execution: { receipt: RECEIPT },
    capabilities: { ...CARD_CAPABILITIES, refunds: true },
  });
  await shows(paid.id, ({ status }) => status === "COMPLETED");
  const refund = ["intent", "refund", "--intent", paid.id, ...note];
  expect(await json(...refund, "--amount", "30.00", "--id", "r1")).toMatchObject({
    amount: "30.00",
    refundId: "r1",
  });
  const refunded = () =>
    ownerRows(world.databaseUrl, "SELECT refunds FROM ramp.transactions WHERE intent_id = $1", [paid.id]);
  await eventually(refunded, ([row]) => (row?.["refunds"] as unknown[]).length === 1);
  expect(await json(...refund)).toMatchObject({ amount: "70.00" });
  await eventually(refunded, ([row]) => (row?.["refunds"] as unknown[]).length === 2);
  const none = await routewright("intent", "refund", "--intent", cancelled.id, ...note);
  expect(none).toMatchObject({ exit: 2, error: expect.stringContaining("Only a payment that is SUCCESS") });
});

it("every command that changes something is recorded, without secrets", async () => {
  const { organizationId = "" } = await json("org", "create", "--name", "Acme");
  const { projectId = "", clientSecret = "" } = await json(
    "project",
    "create",
    "--org",
    organizationId,
    "--name",
    "Shop",
  );
  const connect = [
    "provider",
    "connect",
    "--project",
    projectId,
    "--provider",
    "x",
    "--url",
    "http://127.0.0.1:9",
  ];
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
  const options = {
    databaseUrl: world.databaseUrl,
    host: "127.0.0.1",
    port: 0,
    publicUrl: null,
    addressOf: clientAddress("false"),
    redisUrl: null,
    metricsPublic: false,
    log: createLogger("silent"),
  };
  await expect(startRamp({ ...options, secretsKey: Buffer.alloc(32, 99) })).rejects.toThrow(
    "RAMP_SECRETS_KEY is not the key of this database",
  );
  // A database without secrets takes any key.
  const fresh = await startRamp({
    ...options,
    databaseUrl: await ownDatabase(),
    secretsKey: Buffer.alloc(32, 99),
  });
  await fresh.stop();
});
