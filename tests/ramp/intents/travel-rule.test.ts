/** Originator and beneficiary of a transfer: given by API or on the page, sealed, sent to the provider, deleted. */
import { describe, expect, it } from "vitest";
import { deleteExpired } from "../../../runtime/ramp/start-ramp.js";
import { customerIdOf } from "../../../runtime/ramp/database/id.js";
import type { ProviderRequirement } from "../../../runtime/ramp/providers/protocol.js";
import { ownCards } from "../support/card-provider.js";
import { ownReceiver } from "../support/receiver.js";
import { SERVER } from "../support/server.js";
import { eventually, newCustomer, onramp, ownWorld, reached, untilTrue } from "../support/world.js";

const world = await ownWorld();
await world.sandbox.set({ settleMs: 50 });

const person = (last: string, first: string) => ({
  name: {
    nameIdentifier: [
      { primaryIdentifier: last, secondaryIdentifier: first, naturalPersonNameIdentifierType: "LEGL" },
    ],
  },
});
const HOME = { addressType: "HOME", addressLine: ["Milestone Lane 7"], townName: "London", country: "GB" };
const originator = {
  originatorPerson: [{ naturalPerson: { ...person("Quillfeather", "Ada"), geographicAddress: [HOME] } }],
};
const beneficiary = { beneficiaryPerson: [{ naturalPerson: person("Zimmerzoll", "Grace") }] };
const TRAVEL_RULE = { originator, beneficiary, payloadMetadata: { payloadVersion: "101.2023" } };
const NAMES = ["Quillfeather", "Zimmerzoll", "Milestone Lane"];

/** Sandbox South asks from 1000 on. Whether it checks the identity too is of no interest here. */
const large = (more: Readonly<Record<string, unknown>> = {}) =>
  onramp({ srcAmount: "1000.00", autoExecute: true, ...more });
await world.sandbox.set({ onboarding: "approve" });

async function customer(name: string) {
  const project = await world.project({ providers: ["sandbox-south"] });
  return { project, auth: await newCustomer(world, project, name), id: customerIdOf(project.id, name) };
}

/** All texts of the database, as a backup has them. */
async function stored(): Promise<string> {
  const tables = await world.rows("SELECT tablename FROM pg_tables WHERE schemaname = 'ramp'");
  const rows = await Promise.all(
    tables.map(({ tablename }) => world.rows(`SELECT t::text AS row FROM ramp.${String(tablename)} t`)),
  );
  return JSON.stringify(rows);
}

describe("travelRule of POST /v1/intent", () => {
  it("reaches the provider that asks for it, and is in no answer, event or readable column", async () => {
    const { project, auth } = await customer("ada");
    const receiver = await ownReceiver();
    await world.webhook(project, receiver.url);
    const { status, json, text } = await world.call("POST", "/v1/intent", {
      auth,
      key: "large",
      body: large({ travelRule: TRAVEL_RULE }),
    });
    expect(status, text).toBe(201);
    const path = `/v1/intent/${String(json.intent.id)}`;
    const done = await reached(world, path, { auth }, "COMPLETED");
    expect(done.json.intent.requirements).toContainEqual({
      code: "TRAVEL_RULE",
      title: "Sender and receiver",
      status: "COMPLETED",
    });
    const events = await world.call("GET", "/v1/events?limit=100", { auth: project.basic });
    await untilTrue(() => receiver.received.some(({ body }) => body.includes('"COMPLETED"')));
    const said = [text, done.text, events.text, JSON.stringify(receiver.received), await stored()];
    for (const part of said) for (const name of NAMES) expect(part).not.toContain(name);
    expect(await world.holds("SELECT sent_at IS NOT NULL FROM ramp.travel_rules")).toBe(true);
  });

  it("is the document that was given, to the last character", async () => {
    const asked = { code: "TRAVEL_RULE", title: "Sender and receiver", failureReason: null, form: null };
    const { provider, create } = await ownCards(world, { requirements: [{ ...asked, status: "PENDING" }] });
    const { json } = await create({ travelRule: TRAVEL_RULE });
    await untilTrue(() => provider.submitted.length === 1);
    expect(JSON.parse(provider.submitted[0] ?? "")).toEqual({ fields: TRAVEL_RULE });
    // Still asked for: what was sent is not sent again, and the page asks the customer.
    const page = await fetch(world.url + new URL(String(json.onboardingUrl)).pathname);
    expect(await page.text()).toContain("Last name of the sender");
    expect(provider.submitted).toHaveLength(1);
  });

  it("that the provider refuses is asked of the customer, and page and API say why until the provider takes one", async () => {
    const asked = { code: "TRAVEL_RULE", title: "Sender and receiver", failureReason: null, form: null };
    const { provider, create, auth } = await ownCards(world, {
      requirements: [{ ...asked, status: "PENDING" }],
    });
    provider.refusesForms = "The receiver has no address.";
    const { json } = await create({ travelRule: TRAVEL_RULE });
    const page = new URL(String(json.onboardingUrl)).pathname;
    await untilTrue(async () => (await world.call("GET", page)).text.includes("Last name of the sender"));
    expect(provider.submitted).toHaveLength(1);
    const path = `/v1/intent/${String(json.intent.id)}`;
    const requirement = async () => (await world.call("GET", path, { auth })).json.intent.requirements[0];
    const told = "The receiver has no address.";
    expect((await world.call("GET", page)).text).toContain(told);
    expect(await requirement()).toMatchObject({ status: "PENDING", reason: told });
    const says = async (said: Partial<ProviderRequirement>) => {
      provider.requirements = [{ ...asked, status: "PENDING", ...said }];
      await world.rows("UPDATE ramp.intents SET next_poll_at = now() WHERE id = $1", [json.intent.id]);
    };
    // A look-up that says nothing of it leaves it; what the provider says then is newer.
    await says({ title: "Both sides" });
    expect(await eventually(requirement, ({ title }) => title === "Both sides")).toMatchObject({
      reason: told,
    });
    await says({ failureReason: "Still none." });
    await eventually(requirement, ({ reason }) => reason === "Still none.");
    await says({ status: "COMPLETED" });
    expect(await eventually(requirement, ({ status }) => status === "COMPLETED")).not.toHaveProperty(
      "reason",
    );
  });

  it.each([
    [
      "no legal name",
      {
        originator,
        beneficiary: {
          beneficiaryPerson: [
            {
              naturalPerson: {
                name: {
                  nameIdentifier: [{ primaryIdentifier: "Z", naturalPersonNameIdentifierType: "ALIA" }],
                },
              },
            },
          ],
        },
      },
    ],
    [
      "an originator of a name alone",
      { originator: { originatorPerson: [{ naturalPerson: person("Q", "A") }] }, beneficiary },
    ],
    ["no beneficiary", { originator }],
    [
      "letters that are not Latin",
      { originator, beneficiary: { beneficiaryPerson: [{ naturalPerson: person("Ζήτα", "Γ") }] } },
    ],
    [
      "an address without a line or a street",
      {
        originator: {
          originatorPerson: [
            {
              naturalPerson: {
                ...person("Q", "A"),
                geographicAddress: [{ addressType: "HOME", townName: "London", country: "GB" }],
              },
            },
          ],
        },
        beneficiary,
      },
    ],
    [
      "no such country",
      {
        originator: {
          originatorPerson: [
            { naturalPerson: { ...person("Q", "A"), geographicAddress: [{ ...HOME, country: "QZ" }] } },
          ],
        },
        beneficiary,
      },
    ],
    [
      "a birth to come",
      {
        originator: {
          originatorPerson: [
            {
              naturalPerson: {
                ...person("Q", "A"),
                dateAndPlaceOfBirth: { dateOfBirth: "2999-01-01", placeOfBirth: "London" },
              },
            },
          ],
        },
        beneficiary,
      },
    ],
    [
      "a company without its authority",
      {
        originator: {
          originatorPerson: [
            {
              legalPerson: {
                name: {
                  nameIdentifier: [{ legalPersonName: "Q Ltd", legalPersonNameIdentifierType: "LEGL" }],
                },
                nationalIdentification: { nationalIdentifier: "1", nationalIdentifierType: "RAID" },
              },
            },
          ],
        },
        beneficiary,
      },
    ],
    ["the names of IVMS101 of 2020", { originator: { originatorPersons: [] }, beneficiary }],
  ])("is refused with %s, without its words", async (_, travelRule) => {
    const { auth } = await customer("bob");
    const { status, json } = await world.call("POST", "/v1/intent", { auth, body: large({ travelRule }) });
    expect([status, json.error]).toEqual([400, "INVALID_REQUEST"]);
    expect(json.details[0].path).toMatch(/^\/travelRule/);
  });

  it("takes names and towns with accents, and local names, as they are", async () => {
    const asked = { code: "TRAVEL_RULE", title: "Sender and receiver", failureReason: null, form: null };
    const { provider, create } = await ownCards(world, { requirements: [{ ...asked, status: "PENDING" }] });
    const name = (first: string, last: string, local: string) => ({
      name: {
        ...person(last, first).name,
        localNameIdentifier: [{ primaryIdentifier: local, nameIdentifierType: "LEGL" }],
      },
    });
    const home = { ...HOME, addressLine: ["Große Straße 5"], townName: "Köln", country: "DE" };
    const travelRule = {
      originator: {
        originatorPerson: [
          { naturalPerson: { ...name("Jürgen", "Müller", "Ζήτα"), geographicAddress: [home] } },
        ],
      },
      beneficiary: { beneficiaryPerson: [{ naturalPerson: name("Əli", "Nguyễn–O’Šķē", "吴信利") }] },
    };
    const { status, text } = await create({ travelRule });
    expect(status, text).toBe(201);
    await untilTrue(() => provider.submitted.length === 1);
    expect(JSON.parse(provider.submitted[0] ?? "")).toEqual({ fields: travelRule });
  });

  it("takes companies by their LEI", async () => {
    const { auth } = await customer("corp");
    const legalPerson = {
      name: { nameIdentifier: [{ legalPersonName: "Quill Ltd", legalPersonNameIdentifierType: "LEGL" }] },
      nationalIdentification: { nationalIdentifier: "5493001KJTIIGC8Y1R12", nationalIdentifierType: "LEIX" },
    };
    const travelRule = { originator: { originatorPerson: [{ legalPerson }] }, beneficiary };
    expect((await world.call("POST", "/v1/intent", { auth, body: large({ travelRule }) })).status).toBe(201);
  });

  it("is deleted with the customer, and by retention", async () => {
    const { project, auth, id } = await customer("erased");
    const { json } = await world.call("POST", "/v1/intent", {
      auth,
      body: large({ travelRule: TRAVEL_RULE }),
    });
    await reached(world, `/v1/intent/${String(json.intent.id)}`, { auth }, "COMPLETED");
    const kept = () => world.rows("SELECT FROM ramp.travel_rules WHERE intent_id = $1", [json.intent.id]);
    expect(await kept()).toHaveLength(1);
    expect((await world.call("DELETE", `/v1/customers/${id}`, { auth: project.basic })).status).toBe(204);
    expect(await kept()).toEqual([]);
    const before = await world.rows("SELECT FROM ramp.travel_rules");
    await world.rows(
      "UPDATE ramp.travel_rules SET created_at = now() - interval '91 days' WHERE sent_at IS NOT NULL",
    );
    await deleteExpired({ database: world.database, log: SERVER.log }, 90);
    const left = await world.rows("SELECT sent_at FROM ramp.travel_rules");
    expect(left.length).toBeLessThan(before.length);
    expect(left.filter(({ sent_at }) => sent_at !== null)).toEqual([]);
  });
});

describe("without it", () => {
  const form = {
    "field.originatorFirstName": "Ada",
    "field.originatorLastName": "Quillfeather",
    "field.originatorAddress": "Milestone Lane 7",
    "field.originatorTown": "London",
    "field.originatorCountry": "GB",
    "field.beneficiaryFirstName": "Grace",
    "field.beneficiaryLastName": "Zimmerzoll",
  };
  const send = (page: string, fields: Readonly<Record<string, string>>) =>
    world.call("POST", page, {
      text: new URLSearchParams({ action: "submit", requirement: "TRAVEL_RULE", ...fields }).toString(),
      headers: { "content-type": "application/x-www-form-urlencoded" },
    });

  it("the hosted page asks for both, and sends them as IVMS101.2023 without storing them", async () => {
    const { auth } = await customer("page");
    const { json } = await world.call("POST", "/v1/intent", { auth, body: large() });
    const page = new URL(String(json.onboardingUrl)).pathname;
    await untilTrue(async () => (await world.call("GET", page)).text.includes("Last name of the sender"));
    const wrong = await send(page, { ...form, "field.originatorLastName": "Κουίλ" });
    expect([wrong.status, wrong.text.includes("Error:")]).toEqual([422, true]);
    expect((await send(page, form)).status).toBe(303);
    await reached(world, `/v1/intent/${String(json.intent.id)}`, { auth }, "COMPLETED");
    expect(await world.rows("SELECT FROM ramp.travel_rules WHERE intent_id = $1", [json.intent.id])).toEqual(
      [],
    );
    const all = await stored();
    for (const name of NAMES) expect(all).not.toContain(name);
  });

  it("a customer called Jürgen Müller of Köln finishes, and one with a single name in other letters", async () => {
    const asked = { code: "TRAVEL_RULE", title: "Sender and receiver", failureReason: null, form: null };
    const { provider, create } = await ownCards(world, { requirements: [{ ...asked, status: "PENDING" }] });
    const { json } = await create();
    const page = new URL(String(json.onboardingUrl)).pathname;
    const named = {
      "field.originatorFirstName": "Jürgen",
      "field.originatorLastName": "Müller",
      "field.originatorAddress": "Große Straße 5",
      "field.originatorTown": "Köln",
      "field.originatorCountry": "DE",
      "field.beneficiaryLastName": "Wu",
      "field.beneficiaryLocalName": "吴",
    };
    const wrong = await send(page, { ...named, "field.beneficiaryLastName": "吴" });
    expect(wrong.text).toContain(
      "Last name of the receiver must be in Latin letters, with or without accents",
    );
    const answer = await send(page, named);
    expect(answer.status, answer.text).toBe(303);
    expect(JSON.parse(provider.submitted[0] ?? "")).toMatchObject({
      fields: {
        originator: {
          originatorPerson: [
            {
              naturalPerson: {
                ...person("Müller", "Jürgen"),
                geographicAddress: [{ addressLine: ["Große Straße 5"], townName: "Köln", country: "DE" }],
              },
            },
          ],
        },
        beneficiary: {
          beneficiaryPerson: [
            {
              naturalPerson: {
                name: {
                  nameIdentifier: [{ primaryIdentifier: "Wu", naturalPersonNameIdentifierType: "LEGL" }],
                  localNameIdentifier: [{ primaryIdentifier: "吴", nameIdentifierType: "LEGL" }],
                },
              },
            },
          ],
        },
      },
    });
  });

  it("a smaller payment is asked for nothing, whatever is given", async () => {
    const { auth } = await customer("small");
    const { json } = await world.call("POST", "/v1/intent", {
      auth,
      body: onramp({ srcAmount: "999.99", autoExecute: true, travelRule: TRAVEL_RULE }),
    });
    const done = await reached(world, `/v1/intent/${String(json.intent.id)}`, { auth }, "COMPLETED");
    expect(done.json.intent.requirements.map(({ code }: { code: string }) => code)).not.toContain(
      "TRAVEL_RULE",
    );
  });
});
