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
  return { created, id, project, read, said };
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
