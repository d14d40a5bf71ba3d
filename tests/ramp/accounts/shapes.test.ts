/** Identifiers, absent fields, account details and keys, as callers see them over HTTP. */
import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { newCustomer, onramp, ownerRows, ownWorld, type Reply, WALLET } from "../support/world.js";

const world = await ownWorld();
const project = await world.project();
const { basic } = project;
const auth = await newCustomer(world, project);

/** UUIDv5 as RFC 9562, section 5.5, has it. */
function uuid5(namespace: string, name: string): string {
  const bytes = createHash("sha1")
    .update(Buffer.from(namespace.replaceAll("-", ""), "hex"))
    .update(name, "utf8")
    .digest()
    .subarray(0, 16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x50;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

function claimsOf(token: unknown): Record<string, unknown> {
  const payload = String(token).split(".")[1] ?? "";
  return JSON.parse(Buffer.from(payload, "base64url").toString()) as Record<string, unknown>;
}

const customer = (id: string): Promise<Reply> =>
  world.call("POST", "/v1/customers", { auth: basic, body: { id } });
const intent = (body: unknown, key?: string): Promise<Reply> =>
  world.call("POST", "/v1/intent", { auth, body, ...(key === undefined ? {} : { key }) });

describe("a customer's id", () => {
  it("is the UUIDv5 of the caller's id under the project's; the caller's own comes back as externalId", async () => {
    const { status, json } = await customer("Käufer 7");
    expect(status).toBe(201);
    expect(json).toMatchObject({ id: uuid5(project.projectId, "Käufer 7"), externalId: "Käufer 7" });
    expect(claimsOf(json.accessToken)["sub"]).toBe(json.id);
    const found = await world.call("GET", "/v1/customers?externalId=K%C3%A4ufer%207", { auth: basic });
    expect(found.json).toMatchObject([{ id: json.id, externalId: "Käufer 7" }]);
    expect((await world.call("GET", "/v1/customers?externalId=nobody", { auth: basic })).json).toEqual([]);
  });

  it("is the caller's own where that is a UUID, in lower case", async () => {
    const id = "0F8FAD5B-D9CB-469F-A165-70867728950E";
    const [upper, lower] = [await customer(id), await customer(id.toLowerCase())];
    expect(upper.json).toMatchObject({ id: id.toLowerCase(), externalId: id });
    expect(lower.json).toMatchObject({ id: id.toLowerCase(), externalId: id });
  });

  it("is the same in intents, events and accounts", async () => {
    const { json: payer } = await customer("same everywhere");
    const bearer = `Bearer ${String(payer.accessToken)}`;
    const { json } = await world.call("POST", "/v1/intent", { auth: bearer, body: onramp() });
    const read = await world.call("GET", `/v1/intents?customerId=${String(payer.id)}`, { auth: basic });
    expect(read.json).toMatchObject([{ customerId: payer.id, intent: { id: json.intent.id } }]);
    const events = await ownerRows(world.databaseUrl, "SELECT body FROM ramp.events");
    const own = events
      .map(({ body }) => JSON.parse(String(body)) as { data: Record<string, unknown> })
      .filter(({ data }) => data["intentId"] === json.intent.id);
    expect(own.length).toBeGreaterThan(0);
    expect(new Set(own.map(({ data }) => data["customerId"]))).toEqual(new Set([payer.id]));
  });
});

describe("a field without a value", () => {
  it("is absent from an intent and its transaction, not null", async () => {
    const { json } = await intent(onramp({ autoExecute: false }));
    for (const name of ["currentRequirementCode", "onboardingRedirectUrl", "checkoutRedirectUrl"])
      expect(json.intent).not.toHaveProperty(name);
    const open = await intent(
      onramp({ srcAmount: "500.00", onboardingRedirectUrl: "https://shop.example/" }),
    );
    expect(open.json.intent).toMatchObject({
      currentRequirementCode: "KYC_VERIFICATION",
      onboardingRedirectUrl: "https://shop.example/",
    });
    await world.sandbox.set({ slowMs: 0, execution: "stall" });
    const executed = await world.call("POST", `/v1/intent/${json.intent.id}/transaction`, { auth });
    await world.sandbox.set({ execution: "settle" });
    for (const text of [json, open.json.intent, executed.json].map((value) => JSON.stringify(value)))
      expect(text.replace(/"onboardingUrl":null/, "")).not.toContain("null");
  });
});

describe("a bank account's country", () => {
  const withDetails = (details: unknown): Promise<Reply> =>
    intent(onramp({ src: { currencyCode: "USD", details } }));

  it("is required", async () => {
    const { status, json } = await withDetails({ rail: "ACH" });
    expect([status, json.error, json.details]).toEqual([
      400,
      "INVALID_ACCOUNT_DETAILS",
      [{ path: "/src/details/countryCode", message: "is required: the country decides limits" }],
    ]);
  });

  it("is taken in any letter case and kept in upper case", async () => {
    const { status, json, text } = await withDetails({ countryCode: "uS", rail: "ACH" });
    expect(status, text).toBe(201);
    expect(json.intent.src.details.countryCode).toBe("US");
  });
});

describe("account details", () => {
  const bank = { countryCode: "US", rail: "ACH", provider: "sandbox-south" };
  const on = (details: unknown, address = WALLET): Promise<Reply> =>
    intent(
      onramp({
        src: { currencyCode: "USD", details },
        dest: { currencyCode: "USDC_POLYGON", details: { address } },
      }),
    );

  it("may be left out on create, but what is given is checked", async () => {
    expect((await on(bank)).status).toBe(201);
    const ok = await on({ ...bank, routingNumber: "021000021", accountNumber: "123456789" });
    expect(ok.status, ok.text).toBe(201);
    const wrong = await on({ ...bank, routingNumber: "021000022" });
    expect([wrong.status, wrong.json.error, wrong.json.details]).toEqual([
      400,
      "INVALID_ACCOUNT_DETAILS",
      [{ path: "/src/details/routingNumber", message: "must be a routing number with its check digit" }],
    ]);
  });

  it("of an off-ramp's bank account may be left out too", async () => {
    const reply = await intent({
      src: { currencyCode: "USDC_POLYGON", details: { address: WALLET } },
      dest: { currencyCode: "USD", details: bank },
      srcAmount: "50.00",
    });
    expect(reply.status, reply.text).toBe(201);
  });

  it.each([
    ["a wrong checksum", WALLET.replace("52908400098527886E", "52908400098527886e")],
    ["the zero address", `0x${"0".repeat(40)}`],
  ])("refuse a wallet's address with %s", async (_, address) => {
    const { status, json } = await on(bank, address);
    expect([status, json.error]).toEqual([400, "INVALID_ACCOUNT_DETAILS"]);
    expect(json.details).toEqual([
      {
        path: "/dest/details/address",
        message: "must be an address with its checksum (EIP-55), and not the zero address",
      },
    ]);
  });

  it.each([WALLET.toLowerCase(), `0x${WALLET.slice(2).toUpperCase()}`])(
    "take a wallet's address in one letter case: %s",
    async (address) => expect((await on(bank, address)).status).toBe(201),
  );
});

describe("external accounts", () => {
  const body = {
    src: "EUR",
    dest: "EURe_GNOSIS",
    source: { iban: "DE89370400440532013000", countryCode: "de" },
    destination: { address: WALLET },
  };
  const register = (key: string, given: unknown = body): Promise<Reply> =>
    world.call("POST", "/v1/customers/external-accounts", { auth, key, body: given });

  it("are made once for an Idempotency-Key", async () => {
    const [first, again] = [await register("accounts"), await register("accounts")];
    expect(first.status, first.text).toBe(201);
    expect(first.json.source.metadata.countryCode).toBe("DE");
    expect([again.status, again.text]).toEqual([201, first.text]);
    expect(again.headers.get("x-idempotency-replayed")).toBe("true");
    const other = await register("accounts", { ...body, src: "USD" });
    expect([other.status, other.json.error]).toEqual([422, "IDEMPOTENCY_KEY_REUSED"]);
    const rows = await ownerRows(world.databaseUrl, "SELECT FROM ramp.external_accounts");
    expect(rows).toHaveLength(2);
  });
});

describe("an external account", () => {
  const pair = {
    src: "USD",
    dest: "USDC_POLYGON",
    source: { countryCode: "us", rail: "ACH", routingNumber: "021000021", accountNumber: "12345678" },
    destination: { address: WALLET },
  };
  const path = "/v1/customers/external-accounts";
  const register = async (bearer: string): Promise<{ source: string; destination: string }> => {
    const { status, json, text } = await world.call("POST", path, { auth: bearer, body: pair });
    expect(status, text).toBe(201);
    return { source: String(json.source.id), destination: String(json.destination.id) };
  };
  it("is used in an intent by its id; details add to it", async () => {
    const one = await newCustomer(world, project);
    const { source, destination } = await register(one);
    const make = (
      src: unknown,
      dest: unknown = { currencyCode: "USDC_POLYGON", externalAccountId: destination },
    ) => world.call("POST", "/v1/intent", { auth: one, body: onramp({ src, dest }) });
    const details = { provider: "sandbox-south" };
    const made = await make({ currencyCode: "USD", externalAccountId: source, details });
    expect(made.status, made.text).toBe(201);
    expect(made.json.intent).toMatchObject({
      src: { details: { ...pair.source, ...details, countryCode: "US" } },
      dest: { details: { address: WALLET } },
    });
    const refused = async (src: unknown): Promise<unknown> => {
      const { status, json } = await make(src);
      expect([status, json.error]).toEqual([400, "INVALID_ACCOUNT_DETAILS"]);
      return json.details[0];
    };
    expect(await refused({ currencyCode: "EUR", externalAccountId: source })).toEqual({
      path: "/src/externalAccountId",
      message: "is an account in USD",
    });
    expect(await refused({ currencyCode: "USD", externalAccountId: crypto.randomUUID() })).toMatchObject({
      path: "/src/externalAccountId",
    });
    expect(await refused({ currencyCode: "USD" })).toMatchObject({ path: "/src/details" });
    const other = { currencyCode: "USD", externalAccountId: source, details: { accountNumber: "99999999" } };
    expect(await refused(other)).toMatchObject({ path: "/src/details/accountNumber" });
    const incomplete = await world.call("POST", "/v1/intent", {
      auth,
      body: onramp({ src: { currencyCode: "USD", externalAccountId: source } }),
    });
    expect(incomplete.json.error).toBe("INVALID_ACCOUNT_DETAILS");
  });
});

describe("a replay", () => {
  it("asks no provider and verifies nothing again", async () => {
    // Two candidates: creating it needs quotes of both.
    const body = onramp({ src: { currencyCode: "USD", details: { countryCode: "US", rail: "ACH" } } });
    const first = await intent(body, "replayed");
    expect(first.status, first.text).toBe(201);
    await world.sandbox.set({ slowMs: 60_000 });
    const again = await intent(body, "replayed");
    await world.sandbox.set({ slowMs: 0 });
    expect([again.status, again.text]).toEqual([201, first.text]);
  });
});
