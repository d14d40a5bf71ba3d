/** A requirement as a provider reports it: more is needed, answers are old, its page is no address. */
import { expect, it } from "vitest";
import type { ProviderRequirement } from "../../../runtime/ramp/providers/protocol.js";
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

const shown = { code: "KYC_VERIFICATION", title: "Identity check" };

it("goes back to PENDING with a new attempt, and not with an answer of an attempt before", async () => {
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

it("whose page changes has the new one, for as long as there is something to do", async () => {
  const { said } = await begin({ url: "https://kyc.example/1" });
  const at = (url: string) => expect.stringContaining(`${url}?return_url=http`) as string;
  const moved = await said({ status: "IN_PROGRESS", url: "https://kyc.example/2" });
  expect(moved).toEqual({ ...shown, status: "IN_PROGRESS", url: at("https://kyc.example/2") });
  expect(await said({ status: "IN_PROGRESS" })).toEqual({ ...shown, status: "IN_PROGRESS" });
});

it("whose page is no address of one is no answer: the intent needs attention", async () => {
  const { read } = await begin({ url: "javascript:alert(1)" });
  const { json } = await eventually(read, (reply) => reply.json.attention !== undefined);
  expect(json.attention.INVALID_ANSWER).toContain("/requirements/0/url must match");
  expect(json.intent.requirements).toEqual([]);
});

it("whose page has a port that no address has is shown with it", async () => {
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

it("whose form asks for numbers passes on all digits, and says what is no number", async () => {
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
