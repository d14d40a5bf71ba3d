/** How long a payment is awaited: the provider says it, and the intent does not expire before. */
import { expect, it } from "vitest";
import { eachBeside, itBeside } from "../../support/beside.js";
import { ownCards } from "../support/card-provider.js";
import { FAST, newCustomer, onramp, ownWorld, reached, type Reply, untilTrue } from "../support/world.js";

const LIFETIME_MS = 600_000;
const world = await ownWorld({ polling: { ...FAST, intentLifetimeMs: LIFETIME_MS } });
const HOUR_MS = 60 * 60_000;

/** Moves times of an intent into the past by its lifetime. */
const age = (id: unknown, ...times: readonly string[]) =>
  world.rows(
    `UPDATE ramp.intents SET ${times.map((time) => `${time} = ${time} - $2::int * interval '1 ms'`).join(", ")} WHERE id = $1`,
    [id, LIFETIME_MS],
  );
const hoursFromNow = (time: string): number => Math.round((Date.parse(time) - Date.now()) / HOUR_MS);

async function awaited(paymentDueAt?: string) {
  const execution = { status: "AWAITING_FUNDS" as const, ...(paymentDueAt && { paymentDueAt }) };
  const cards = await ownCards(world, { execution });
  const { json, text } = await cards.create();
  expect(json.transaction?.status, text).toBe("IN_PROGRESS");
  const path = `/v1/intent/${String(json.intent.id)}`;
  return { ...cards, json, path, read: (): Promise<Reply> => world.call("GET", path, { auth: cards.auth }) };
}

itBeside(
  "an intent whose payment is awaited does not expire before the payment is due, and does then",
  async () => {
    const due = new Date(Date.now() + 72 * HOUR_MS).toISOString();
    const { json, path, read, provider, auth, project } = await awaited(due);
    expect(json.intent).toMatchObject({ paymentDueAt: due, expiredAt: due });
    expect(json.transaction.context.paymentDueAt).toBe(due);
    await age(json.intent.id, "created_at");
    let lookUps = 0;
    provider.answerLookUp = () => {
      lookUps++;
      return Promise.resolve();
    };
    await untilTrue(() => lookUps > 2);
    expect((await read()).json.intent.status).toBe("TRANSACTION_IN_PROGRESS");
    const feed = await world.call("GET", "/v1/events?type=transaction.updated&limit=1", {
      auth: project.basic,
    });
    expect(feed.json[0].data.intent.transaction.paymentDueAt).toBe(due);
    // Nobody waits longer than 60 days: an answer on its way cannot move the expiry again.
    await world.rows(
      "UPDATE ramp.transactions SET created_at = created_at - interval '61 days' WHERE intent_id = $1",
      [json.intent.id],
    );
    await world.rows("UPDATE ramp.intents SET expires_at = now() WHERE id = $1", [json.intent.id]);
    provider.execution = { status: "CANCELLED", paymentDueAt: due };
    await reached(world, path, { auth }, "EXPIRED");
  },
);

eachBeside(
  ["nothing", "2020-01-01T00:00:00Z"],
  "one whose provider says %s expires after its lifetime",
  async (due) => {
    const { json, path, provider, auth } = await awaited(due === "nothing" ? undefined : due);
    expect(Date.parse(json.intent.expiredAt) - Date.parse(json.intent.createdAt)).toBe(LIFETIME_MS);
    await age(json.intent.id, "created_at", "expires_at");
    provider.execution = { status: "CANCELLED" };
    await reached(world, path, { auth }, "EXPIRED");
  },
);

it("nobody waits longer than 60 days", async () => {
  const { json } = await awaited("2099-01-01T00:00:00Z");
  expect(json.intent.paymentDueAt).toBe("2099-01-01T00:00:00.000Z");
  expect(hoursFromNow(json.intent.expiredAt)).toBe(60 * 24);
});

it.each([
  ["USD", "US", "ACH", 120],
  ["BRL", "BR", "PIX", 1],
])(
  "the sandbox waits for %s over %s %s as long as the rail takes",
  async (currencyCode, countryCode, rail, hours) => {
    await world.sandbox.set({ execution: "stall" });
    const auth = await newCustomer(world, await world.project());
    const src = { currencyCode, details: { countryCode, rail, provider: "sandbox-south" } };
    const { json, text } = await world.call("POST", "/v1/intent", {
      auth,
      body: onramp({ src, autoExecute: true }),
    });
    await world.sandbox.set({ execution: "settle" });
    expect(hoursFromNow(json.intent?.paymentDueAt), text).toBe(hours);
  },
);
