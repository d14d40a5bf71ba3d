/** A requirement as a provider reports it: more is needed, answers are old, its page is no address. */
import { describe, expect, it } from "vitest";
import { REQUIREMENT_MOVES } from "../../../runtime/ramp/intents/requirement.js";
import type { ProviderRequirement } from "../../../runtime/ramp/providers/protocol.js";
import { itBeside } from "../../support/beside.js";
import { ownCards } from "../support/card-provider.js";
import { eventually, ownWorld, type Reply, untilTrue } from "../support/world.js";

const world = await ownWorld();

const requirement = (more: Partial<ProviderRequirement>): ProviderRequirement => ({
  code: "KYC_VERIFICATION",
  title: "Identity check",
  status: "PENDING",
  failureReason: null,
  form: null,
  ...more,
});

async function begin(first: Partial<ProviderRequirement>) {
  const setting = await ownCards(world, { requirements: [requirement(first)] });
  const { provider, project } = setting;
  const created = await setting.create({ autoExecute: false });
  expect(created.status, created.text).toBe(201);
  const id = String(created.json.intent.id);
  const read = (): Promise<Reply> => world.call("GET", `/v1/intents/${id}`, { auth: project.basic });
  /** The requirement once the provider has said this and is asked again, after the first answer is recorded. */
  const said = async (more: Partial<ProviderRequirement>): Promise<unknown> => {
    provider.requirements = [requirement(more)];
    const { onboardingLookUps } = provider;
    await untilTrue(() => provider.onboardingLookUps >= onboardingLookUps + 2);
    return (await read()).json.intent.requirements[0];
  };
  return { created, id, project, provider, read, said };
}

type Begun = Awaited<ReturnType<typeof begin>>;

/** The status of the intent and of its checks. */
const statesIn = ({ json }: Reply): readonly string[] => [
  json.intent.status as string,
  ...(json.intent.requirements as { code: string; status: string }[]).map(
    ({ code, status }) => `${code} ${status}`,
  ),
];

/** Once the intent and its checks are so. */
const until = ({ read }: Begun, ...states: readonly string[]): Promise<Reply> =>
  eventually(read, (reply) => JSON.stringify(statesIn(reply)) === JSON.stringify(states));

/** The provider lists these checks, until they are recorded so. */
async function lists(
  begun: Begun,
  requirements: ProviderRequirement[],
  ...states: readonly string[]
): Promise<void> {
  begun.provider.requirements = requirements;
  // As after a callback: nothing is looked up by itself while a payment is awaited.
  await world.rows("UPDATE ramp.intents SET next_poll_at = now() WHERE id = $1", [begun.id]);
  await until(begun, ...states);
}

const shown = { code: "KYC_VERIFICATION", title: "Identity check" };

itBeside("goes back to PENDING with a new attempt, and not with an answer of an attempt before", async () => {
  const { said, project } = await begin({});
  expect(await said({ status: "IN_PROGRESS" })).toEqual({ ...shown, status: "IN_PROGRESS" });
  expect(await said({ status: "PENDING", failureReason: "old" })).toEqual({
    ...shown,
    status: "IN_PROGRESS",
  });
  const again = { ...shown, status: "PENDING", reason: "A second page." };
  expect(await said({ status: "PENDING", attempt: 2, failureReason: "A second page." })).toEqual(again);
  expect(await said({ status: "IN_PROGRESS" })).toEqual(again);
  expect(await said({ status: "FAILED", failureReason: "old" })).toEqual(again);
  expect(await said({ status: "IN_PROGRESS", attempt: 2 })).toEqual({ ...shown, status: "IN_PROGRESS" });
  const third = { ...shown, status: "PENDING", reason: "A third." };
  expect(await said({ status: "PENDING", attempt: 3, failureReason: "A third." })).toEqual(third);
  const events = await world.call("GET", "/v1/events?type=compliance.updated&order=asc", {
    auth: project.basic,
  });
  expect((events.json as Reply["json"][]).map(({ data }) => [data.status, data.reason])).toEqual([
    ["PENDING", undefined],
    ["IN_PROGRESS", undefined],
    ["PENDING", "A second page."],
    ["IN_PROGRESS", undefined],
    ["PENDING", "A third."],
  ]);
});

itBeside("whose page changes has the new one, for as long as there is something to do", async () => {
  const { said } = await begin({ url: "https://kyc.example/1" });
  const at = (url: string) => expect.stringContaining(`${url}?return_url=http`) as string;
  const moved = await said({ status: "IN_PROGRESS", url: "https://kyc.example/2" });
  expect(moved).toEqual({ ...shown, status: "IN_PROGRESS", url: at("https://kyc.example/2") });
  expect(await said({ status: "IN_PROGRESS" })).toEqual({ ...shown, status: "IN_PROGRESS" });
});

itBeside("whose page is no address of one is no answer: the intent needs attention", async () => {
  const { read } = await begin({ url: "javascript:alert(1)" });
  const { json } = await eventually(read, (reply) => reply.json.attention !== undefined);
  expect(json.attention.INVALID_ANSWER).toContain("/requirements/0/url must match");
  expect(json.intent.requirements).toEqual([]);
});

itBeside("whose page has a port that no address has is shown with it", async () => {
  const { created } = await begin({ url: "https://kyc.example:99999/" });
  const page = await world.call("GET", new URL(String(created.json.onboardingUrl)).pathname);
  expect([page.status, page.text]).toEqual([200, expect.stringContaining("Continue at kyc.example:99999")]);
});

const NUMBERS_FORM = {
  type: "object",
  properties: {
    account: { type: "integer", title: "Account", maximum: 1e30 },
    income: { type: "number", title: "Income" },
  },
  required: ["account", "income"],
};

itBeside("whose form asks for numbers passes on all digits, and says what is no number", async () => {
  const { created, provider } = await begin({ form: NUMBERS_FORM });
  const path = new URL(String(created.json.onboardingUrl)).pathname;
  const submit = (account: string, income: string): Promise<Reply> =>
    world.call("POST", path, {
      text: new URLSearchParams({
        action: "submit",
        requirement: "KYC_VERIFICATION",
        "field.account": account,
        "field.income": income,
      }).toString(),
      headers: { "content-type": "application/x-www-form-urlencoded" },
    });
  const wrong = await submit("0x10", "1,5");
  expect(wrong.status).toBe(422);
  expect(wrong.text).toContain("Account must be a whole number such as 1234, without spaces or commas.");
  expect(wrong.text).toContain("Income must be a number such as 1234.5, without spaces or commas.");
  for (const text of ["1e999", "1e-999", ".5", "5.", "+5", "05", "Infinity", "1 000"])
    expect([text, (await submit("1", text)).status]).toEqual([text, 422]);
  for (const text of ["1.5", "1e3", "1.00000000000000000001", `1${"0".repeat(31)}`])
    expect([text, (await submit(text, "1")).status]).toEqual([text, 422]);
  expect(provider.submitted).toEqual([]);
  expect((await submit("12345678901234567890", "0.10000000000000000000000000001")).status).toBe(303);
  const fields = '"account":12345678901234567890,"income":0.10000000000000000000000000001';
  expect(provider.submitted).toEqual([`{"fields":{${fields}}}`]);
});

describe("a list of checks", () => {
  const WAITS = "COMPLIANCE_IN_PROGRESS";
  const kyc = (more: Partial<ProviderRequirement> = {}): ProviderRequirement => requirement(more);
  /** Keeps the intent from its end. */
  const other = requirement({ code: "OTHER" });
  const tested: string[] = [];

  async function told({ project, id }: Begun): Promise<readonly string[]> {
    const events = await world.call("GET", "/v1/events?order=asc", { auth: project.basic });
    return (events.json as Reply["json"][])
      .filter(({ data }) => data.intentId === id)
      .map(({ data }) => `${String(data.requirementCode ?? "intent")} ${String(data.status)}`);
  }

  /** @param path what the check is in each list; null: it is missing */
  const move = (from: string, to: string, path: readonly (Partial<ProviderRequirement> | null)[]): void => {
    tested.push(`${from} ${to}`);
    itBeside(`moves one from ${from} to ${to}`, async () => {
      const begun = await begin({});
      for (const item of path) {
        const status = item === null ? "WITHDRAWN" : String(item.status);
        const end = status === "FAILED" ? "COMPLIANCE_FAILED" : WAITS;
        await lists(
          begun,
          item === null ? [other] : [kyc(item), other],
          end,
          `KYC_VERIFICATION ${status}`,
          "OTHER PENDING",
        );
      }
      const moves = (await told(begun)).filter((line) => line.startsWith("KYC_VERIFICATION "));
      expect(moves.slice(-2)).toEqual([`KYC_VERIFICATION ${from}`, `KYC_VERIFICATION ${to}`]);
    });
  };

  move("PENDING", "IN_PROGRESS", [{ status: "IN_PROGRESS" }]);
  move("PENDING", "WITHDRAWN", [null]);
  move("IN_PROGRESS", "COMPLETED", [{ status: "COMPLETED" }]);
  move("IN_PROGRESS", "FAILED", [{ status: "FAILED", failureReason: "no" }]);
  move("IN_PROGRESS", "PENDING", [
    { status: "IN_PROGRESS" },
    { status: "PENDING", attempt: 2, failureReason: "more" },
  ]);
  move("IN_PROGRESS", "WITHDRAWN", [{ status: "IN_PROGRESS" }, null]);
  move("WITHDRAWN", "PENDING", [null, { status: "PENDING" }]);

  it("moves one in no other way than these: each move has its scenario", () => {
    const moves = Object.entries(REQUIREMENT_MOVES).flatMap(([from, tos]) =>
      Object.keys(tos).map((to) => `${from} ${to}`),
    );
    expect(tested.sort()).toEqual(moves.sort());
  });

  itBeside(
    "that no longer has the only check approves: the page has no form, and the payment can be made",
    async () => {
      const begun = await begin({ form: NUMBERS_FORM });
      const path = new URL(String(begun.created.json.onboardingUrl)).pathname;
      expect((await world.call("GET", path)).text).toContain("Income");
      await lists(begun, [], "PENDING_PAYMENT", "KYC_VERIFICATION WITHDRAWN");
      expect((await world.call("GET", path)).text).toContain("Ready to pay");
      expect((await begun.read()).json.intent).not.toHaveProperty("currentRequirementCode");
      expect(await told(begun)).toEqual([
        "intent PENDING",
        "KYC_VERIFICATION PENDING",
        `intent ${WAITS}`,
        "KYC_VERIFICATION WITHDRAWN",
        "intent COMPLIANCE_APPROVED",
        "intent PENDING_PAYMENT",
      ]);
    },
  );

  itBeside("keeps what has been decided, whether it is listed or not", async () => {
    const begun = await begin({ status: "COMPLETED" });
    await until(begun, "PENDING_PAYMENT", "KYC_VERIFICATION COMPLETED");
    await lists(begun, [other], WAITS, "KYC_VERIFICATION COMPLETED", "OTHER PENDING");
    await lists(begun, [], "PENDING_PAYMENT", "KYC_VERIFICATION COMPLETED", "OTHER WITHDRAWN");
  });

  it("that is empty means that nothing is to be checked", async () => {
    const { create } = await ownCards(world);
    expect((await create({ autoExecute: false })).json.intent.status).toBe("PENDING_PAYMENT");
  });

  itBeside("that is empty and not complete keeps the intent waiting, with autoExecute too", async () => {
    const { create, provider, project } = await ownCards(world, { onboarding: { complete: false } });
    const created = await create();
    const id = String(created.json.intent.id);
    expect([...statesIn(created), created.json.transaction]).toEqual([WAITS, undefined]);
    const path = new URL(String(created.json.onboardingUrl)).pathname;
    expect((await world.call("GET", path)).text).toContain("Checking your details");
    const { onboardingLookUps } = provider;
    await untilTrue(() => provider.onboardingLookUps >= onboardingLookUps + 2);
    const read = (): Promise<Reply> => world.call("GET", `/v1/intents/${id}`, { auth: project.basic });
    expect(statesIn(await read())).toEqual([WAITS]);
    provider.requirements = [kyc({ status: "COMPLETED" })];
    await eventually(read, (reply) => statesIn(reply).length === 2);
    expect(statesIn(await read())).toEqual([WAITS, "KYC_VERIFICATION COMPLETED"]);
    provider.onboarding = { complete: true };
    await eventually(read, ({ json }) => json.transaction !== undefined);
    expect(provider.received.size).toBe(1);
  });

  itBeside("that has another check later counts until the payment is made, and not after it", async () => {
    const begun = await begin({ status: "COMPLETED" });
    const { provider, project, id } = begun;
    await lists(
      begun,
      [kyc({ status: "COMPLETED" }), other],
      WAITS,
      "KYC_VERIFICATION COMPLETED",
      "OTHER PENDING",
    );
    const all = [kyc({ status: "COMPLETED" }), { ...other, status: "COMPLETED" as const }];
    await lists(begun, all, "PENDING_PAYMENT", "KYC_VERIFICATION COMPLETED", "OTHER COMPLETED");
    const { checkoutUrl } = (await begun.read()).json;
    const path = new URL(String(checkoutUrl)).pathname;
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    expect((await world.call("POST", path, { text: "action=execute", headers })).status).toBe(303);
    await until(begun, "TRANSACTION_IN_PROGRESS", "KYC_VERIFICATION COMPLETED", "OTHER COMPLETED");
    provider.requirements = [requirement({ code: "LATE" })];
    await world.rows("UPDATE ramp.intents SET next_poll_at = now() WHERE id = $1", [id]);
    await world.call("GET", `/v1/intents/${id}`, { auth: project.basic });
    await until(begun, "TRANSACTION_IN_PROGRESS", "KYC_VERIFICATION COMPLETED", "OTHER COMPLETED");
  });

  itBeside("that has a failed check later ends the intent", async () => {
    const begun = await begin({ status: "COMPLETED" });
    const failed = requirement({ code: "OTHER", status: "FAILED", failureReason: "On a list." });
    await lists(begun, [failed], "COMPLIANCE_FAILED", "KYC_VERIFICATION COMPLETED", "OTHER FAILED");
    expect((await begun.read()).json.intent.failureReason).toBe("On a list.");
    expect((await told(begun)).slice(-5)).toEqual([
      "OTHER PENDING",
      "OTHER IN_PROGRESS",
      "OTHER FAILED",
      `intent ${WAITS}`,
      "intent COMPLIANCE_FAILED",
    ]);
  });

  it.each([
    ["PENDING", "COMPLETED", "PENDING"],
    ["COMPLETED", "PENDING", "PENDING"],
    ["IN_PROGRESS", "COMPLETED", "IN_PROGRESS"],
    ["PENDING", "IN_PROGRESS", "PENDING"],
    ["COMPLETED", "FAILED", "FAILED"],
  ] as const)("that has one twice, %s and %s, counts as %s", async (first, second, counts) => {
    const { create, provider } = await ownCards(world, {
      requirements: [kyc({ status: first }), kyc({ status: second })],
    });
    const end = counts === "FAILED" ? "COMPLIANCE_FAILED" : WAITS;
    expect(statesIn(await create())).toEqual([end, `KYC_VERIFICATION ${counts}`]);
    expect(provider.received.size).toBe(0);
  });

  it("that has two attempts of one counts the last", async () => {
    const { create } = await ownCards(world, {
      requirements: [kyc({ status: "PENDING" }), kyc({ status: "COMPLETED", attempt: 2 })],
    });
    expect(statesIn(await create({ autoExecute: false }))).toEqual([
      "PENDING_PAYMENT",
      "KYC_VERIFICATION COMPLETED",
    ]);
  });
});
