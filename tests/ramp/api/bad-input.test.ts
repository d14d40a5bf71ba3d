import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RAMP_ERRORS } from "../../../runtime/ramp/core/ramp-errors.js";
import { newCustomer, onramp, ownWorld, type Reply, WALLET } from "../support/world.js";

const world = await ownWorld();
const project = await world.project();
const mine = await newCustomer(world, project);

/** Everything that a caller may have stored. */
async function stored(): Promise<unknown> {
  const tables = [
    "customers",
    "intents",
    "transactions",
    "external_accounts",
    "events",
    "idempotency_claims",
    "customer_identities",
  ];
  return Promise.all(tables.map((table) => world.rows(`SELECT count(*) FROM ramp.${table}`)));
}

async function refusesAll(requests: readonly (() => Promise<Reply>)[], allowed: readonly number[]) {
  const before = await stored();
  for (const request of requests) {
    const { status, json, text } = await request();
    expect(allowed, text).toContain(status);
    expect(RAMP_ERRORS).toHaveProperty(json.error);
    expect(
      Object.keys(json)
        .sort()
        .filter((name) => name !== "details"),
    ).toEqual(["error", "message"]);
  }
  expect(await stored()).toEqual(before);
}

describe("a bad request", () => {
  it.each([
    "1e3",
    "-1",
    "1.",
    ".5",
    "",
    " 1",
    "1 ",
    "0x10",
    "１",
    "1,5",
    "NaN",
    "9".repeat(500),
    "0",
    "00",
    "0.00",
    "1.001",
    "9".repeat(31),
  ])("with the amount %j is refused and nothing is stored", async (srcAmount) =>
    refusesAll([() => world.call("POST", "/v1/intent", { auth: mine, body: onramp({ srcAmount }) })], [400]),
  );

  it("with an amount that is no text is refused", async () => {
    const amounts = [100, 100.5, null, true, ["100"], { value: "100" }];
    await refusesAll(
      amounts.map(
        (srcAmount) => () => world.call("POST", "/v1/intent", { auth: mine, body: onramp({ srcAmount }) }),
      ),
      [400],
    );
  });

  it("with a redirect to nowhere good is refused", async () => {
    const urls = [
      "javascript:alert(1)",
      "data:text/html,x",
      "https://user:secret@example.com/",
      "//example.com",
      "/path",
      "ftp://example.com",
      "https://exa mple.com",
      "https://",
      "https:\\\\example.com",
      `https://example.com/${"x".repeat(10_000)}`,
      "",
      1,
    ];
    const names = ["onboardingRedirectUrl", "checkoutRedirectUrl"];
    const requests = names.flatMap((name) =>
      urls.map(
        (url) => () => world.call("POST", "/v1/intent", { auth: mine, body: onramp({ [name]: url }) }),
      ),
    );
    await refusesAll(requests, [400]);
  });

  it("with accounts that do not match the requirements is refused", async () => {
    const bank = (more: object): object => ({
      src: { currencyCode: "USD", details: { countryCode: "US", rail: "ACH", ...more } },
    });
    const wallet = (details: object): object => ({ dest: { currencyCode: "USDC_POLYGON", details } });
    const changes = [
      bank({ routingNumber: "123" }),
      bank({ accountNumber: "12345678901234567890" }),
      bank({ rail: "WIRE" }),
      bank({ rail: ["ACH"] }),
      bank({ rail: "PIX" }),
      bank({ countryCode: "XX" }),
      bank({ countryCode: 1 }),
      bank({ countryCode: "DE" }),
      bank({ unknown: "x" }),
      bank({ provider: "nobody" }),
      wallet({}),
      wallet({ address: "0x1" }),
      wallet({ address: `${WALLET}0` }),
      wallet({ address: [WALLET] }),
      wallet({ address: WALLET, extra: { deep: true } }),
      { src: { currencyCode: "XYZ", details: {} } },
      { src: { currencyCode: "USDC_POLYGON", details: { address: WALLET } } },
      { src: { currencyCode: "USD" } },
      { src: null },
      { dest: [] },
      { srcAmount: "1000000" },
      { providerId: "" },
      { autoExecute: "true" },
      { unknown: 1 },
    ];
    await refusesAll(
      changes.map(
        (change) => () => world.call("POST", "/v1/intent", { auth: mine, body: onramp({ ...change }) }),
      ),
      [400],
    );
  });

  it("whose body does not match its content type is refused", async () => {
    const send =
      (text: string, type = "application/json") =>
      () =>
        world.call("POST", "/v1/intent", { auth: mine, text, headers: { "content-type": type } });
    await refusesAll(
      [
        send("{"),
        send("[]"),
        send("null"),
        send('"x"'),
        send("{}"),
        send("x=1", "application/x-www-form-urlencoded"),
        send(JSON.stringify(onramp()), "text/plain"),
        send("[".repeat(200_000)),
        send(`{"srcAmount":${"[".repeat(100_000)}${"]".repeat(100_000)}}`),
        send(JSON.stringify(onramp({ src: { currencyCode: "USD", details: { label: "a\u0000b" } } }))),
        send('{"srcAmount":"\\ud800"}'),
        send(`{"srcAmount":"1","__proto__":{"x":1}}`),
        send(JSON.stringify({ pad: "x".repeat(2_000_000) })),
      ],
      [400, 413, 415],
    );
  });

  it("for a customer is refused", async () => {
    const bodies = [
      {},
      { id: "" },
      { id: " " },
      { id: 1 },
      { id: null },
      { id: "x".repeat(257) },
      { id: "a\0b" },
      { id: "x", metadata: [] },
      { id: "x", x: 1 },
      { id: "x", subject_token: "" },
    ];
    await refusesAll(
      bodies.map((body) => () => world.call("POST", "/v1/customers", { auth: project.basic, body })),
      [400],
    );
  });

  it("with an id that is none finds nothing", async () => {
    const ids = [
      "x",
      "%00",
      "..%2f",
      crypto.randomUUID(),
      "%E0%A4%A",
      "' OR 1=1 --",
      "00000000-0000-0000-0000-000000000000",
    ];
    const requests = ids.flatMap((id) => [
      () => world.call("GET", `/v1/intent/${id}`, { auth: mine }),
      () => world.call("POST", `/v1/intent/${id}/transaction`, { auth: mine }),
    ]);
    await refusesAll(requests, [404, 400]);
  });

  it("with an id that only the URN of a UUID is, is refused", async () => {
    const id = "urn:uuid:01997f3a-0001-7000-8000-000000000001";
    const [{ src, dest }, { details }] = [onramp(), { details: undefined }];
    const bodies = [
      onramp({ quoteId: id }),
      onramp({ src: { ...(src as object), details, externalAccountId: id } }),
      onramp({ dest: { ...(dest as object), details, externalAccountId: id } }),
    ];
    await refusesAll(
      bodies.map((body) => () => world.call("POST", "/v1/intent", { auth: mine, body })),
      [400],
    );
  });

  it.each([
    "0000-01-01T00:00:00Z",
    "2026-01-01T00:00:00+23:59",
    "2016-12-31T23:59:60Z",
    "9999-12-31T23:59:59-01:00",
    `2026-01-01T00:00:00.${"0".repeat(200)}Z`,
    "2026-02-30T00:00:00Z",
    "2026-01-01T24:00:00Z",
    "2026-01-01T00:00:00",
    "2026-01-01",
    "infinity",
  ])("with the time %s is refused", async (time) => {
    const query = (name: string, path: string) => () =>
      world.call("GET", `${path}?${new URLSearchParams({ [name]: time }).toString()}`, {
        auth: project.basic,
      });
    await refusesAll(
      [
        query("createdSince", "/v1/events"),
        ...["createdSince", "createdUntil", "updatedSince"].map((name) => query(name, "/v1/intents")),
      ],
      [400],
    );
  });

  it.each(["2026-01-01T00:00:00.123456Z", "2026-01-01t00:00:00+15:59", "0001-01-01T00:00:00Z"])(
    "is a good request where its time is %s",
    async (time) => {
      const query = new URLSearchParams({ createdSince: time }).toString();
      for (const path of ["/v1/events", "/v1/intents"])
        expect(await world.call("GET", `${path}?${query}`, { auth: project.basic })).toMatchObject({
          status: 200,
        });
    },
  );

  it("of any kind gets an answer of the closed list", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.jsonValue({ maxDepth: 4 }),
        fc.constantFrom("src", "dest", "srcAmount", "providerId", "autoExecute"),
        async (value, field) => {
          const { status, json } = await world.call("POST", "/v1/intent", {
            auth: mine,
            body: { ...onramp({ srcAmount: "500" }), [field]: value },
          });
          expect([201, 400]).toContain(status);
          if (status === 400) expect(RAMP_ERRORS).toHaveProperty(json.error);
        },
      ),
      { numRuns: 60, seed: 1 },
    );
  });
});
