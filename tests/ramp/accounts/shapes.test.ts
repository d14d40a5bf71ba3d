/** Identifiers, absent fields, account details and keys, as callers see them over HTTP. */
import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { newCustomer, onramp, ownWorld, type Reply, WALLET } from "../support/world.js";

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
    const events = await world.rows("SELECT body FROM ramp.events");
    const own = events
      .map(({ body }) => JSON.parse(String(body)) as { data: Record<string, unknown> })
      .filter(({ data }) => data["intentId"] === json.intent.id);
    expect(own.length).toBeGreaterThan(0);
    expect(new Set(own.map(({ data }) => data["customerId"]))).toEqual(new Set([payer.id]));
  });
});

it("a field without a value is absent from an intent and its transaction, not null", async () => {
  const { json } = await intent(onramp({ autoExecute: false }));
  for (const name of ["currentRequirementCode", "onboardingRedirectUrl", "checkoutRedirectUrl"])
    expect(json.intent).not.toHaveProperty(name);
  const open = await intent(onramp({ srcAmount: "500.00", onboardingRedirectUrl: "https://shop.example/" }));
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
  const pair = {
    src: "USD",
    dest: "USDC_POLYGON",
    source: { countryCode: "us", rail: "ACH", routingNumber: "021000021", accountNumber: "12345678" },
    destination: { address: WALLET },
  };
  const register = (body: unknown = pair, key = crypto.randomUUID() as string): Promise<Reply> =>
    world.call("POST", "/v1/customers/external-accounts", { auth, key, body });
  const stored = async (): Promise<number> => (await world.rows("SELECT FROM ramp.external_accounts")).length;

  it("are registered as a pair, each with its currency, once for an Idempotency-Key", async () => {
    const [first, again] = [await register(pair, "accounts"), await register(pair, "accounts")];
    expect(first.status, first.text).toBe(201);
    const { source, destination } = first.json;
    expect(source).toMatchObject({
      type: "BANK_ACCOUNT",
      metadata: { ...pair.source, countryCode: "US" },
      label: "USD …5678",
      currency: { code: "USD", decimals: 2, type: "FIAT" },
    });
    expect(destination).toMatchObject({
      type: "CRYPTO_ADDRESS",
      currency: { code: "USDC_POLYGON", decimals: 6, type: "CRYPTO", blockchain: { code: "POLYGON" } },
    });
    expect(source.currencyId).toBe(source.currency.id);
    expect(destination.currency.blockchainId).toBe(destination.currency.blockchain.id);
    expect([again.status, again.text]).toEqual([201, first.text]);
    expect(again.headers.get("x-idempotency-replayed")).toBe("true");
    const other = await register({ ...pair, src: "EUR" }, "accounts");
    expect([other.status, other.json.error]).toEqual([422, "IDEMPOTENCY_KEY_REUSED"]);
    expect(await stored()).toBe(2);
  });

  it.each([
    ["wrong check digits", { src: "EUR", dest: "EURe_GNOSIS", source: { iban: "DE89370400440532013001" } }],
    ["no account number", { source: {} }],
    ["an unknown field", { source: { ...pair.source, x: 1 } }],
    ["a short address", { destination: { address: "0x123" } }],
    ["a nested address", { destination: { address: { value: WALLET } } }],
  ])("are refused with %s", async (_, change) => {
    const before = await stored();
    const { status, json } = await register({ ...pair, ...change });
    expect([status, json.error]).toEqual([400, "INVALID_ACCOUNT_DETAILS"]);
    expect(await stored()).toBe(before);
  });

  it("are used in place of details, without a country too: it is the IBAN's, or the only one of the rail", async () => {
    const { rail, routingNumber, accountNumber } = pair.source;
    const source = { rail, routingNumber, accountNumber };
    const { json, text } = await register({ ...pair, source });
    expect(json.source?.id, text).toBeTruthy();
    const dest = { currencyCode: "USDC_POLYGON", externalAccountId: String(json.destination.id) };
    const src = { currencyCode: "USD", externalAccountId: String(json.source.id) };
    const reply = await intent(onramp({ src, dest }));
    expect(reply.status, reply.text).toBe(201);
    expect(reply.json.intent.src.details).toEqual({ ...source, countryCode: "US" });
    const euros = { src: "EUR", dest: "USDC_POLYGON", source: { iban: "FR1420041010050500013M02606" } };
    const sepa = await register({ ...euros, destination: pair.destination });
    expect(sepa.status, sepa.text).toBe(201);
    const paid = await intent(
      onramp({ src: { currencyCode: "EUR", externalAccountId: String(sepa.json.source.id) }, dest }),
    );
    expect(paid.status, paid.text).toBe(201);
    expect(paid.json.intent.src.details).toMatchObject({ countryCode: "FR" });
  });

  it.each([
    ["TR330006100519786457841326", 400],
    ["BR1800360305000010009795493C1", 400],
    ["AE070331234567890123456", 400],
    ["SA0380000000608010167519", 400],
    ["XK051212012345678906", 400],
    ["DE89370400440532013001", 400],
    ["DE893704004405320130", 400],
    ["NL91ABNA041716430A", 400],
    ["DE89370400440532013000", 201],
    ["GB29NWBK60161331926819", 201],
    ["CH9300762011623852957", 201],
    ["AL47212110090000000235698741", 201],
    ["RS35260005601001611379", 201],
    ["SM86U0322509800000000270100", 201],
  ])("of SEPA have an IBAN of its area: %s is a %i", async (iban, status) => {
    const body = {
      src: "EUR",
      dest: "USDC_POLYGON",
      source: { rail: "SEPA", iban },
      destination: pair.destination,
    };
    const reply = await register(body);
    expect(reply.status, reply.text).toBe(status);
  });

  it("are used in an intent by their ids; details add to them", async () => {
    const { json } = await register();
    const [source, destination] = [String(json.source.id), String(json.destination.id)];
    const make = (
      src: unknown,
      bearer = auth,
      dest: unknown = { currencyCode: "USDC_POLYGON", externalAccountId: destination },
    ) => world.call("POST", "/v1/intent", { auth: bearer, body: onramp({ src, dest }) });
    const details = { provider: "sandbox-south" };
    const made = await make({ currencyCode: "USD", externalAccountId: source, details });
    expect(made.status, made.text).toBe(201);
    expect(made.json.intent).toMatchObject({
      src: { details: { ...pair.source, ...details, countryCode: "US" } },
      dest: { details: { address: WALLET } },
    });
    const another = { accountNumber: "99999999" };
    const refusals = [
      [{ currencyCode: "EUR", externalAccountId: source }, "/src/externalAccountId", "is an account in USD"],
      [{ currencyCode: "USD", externalAccountId: crypto.randomUUID() }, "/src/externalAccountId"],
      [{ currencyCode: "USD" }, "/src/details"],
      [{ currencyCode: "USD", externalAccountId: source, details: another }, "/src/details/accountNumber"],
    ] as const;
    for (const [src, path, message = expect.any(String) as string] of refusals) {
      const refused = await make(src);
      expect([refused.status, refused.json.error]).toEqual([400, "INVALID_ACCOUNT_DETAILS"]);
      expect(refused.json.details[0]).toEqual({ path, message });
    }
    const otherCustomer = await newCustomer(world, project);
    const reply = await make({ currencyCode: "USD", externalAccountId: source }, otherCustomer);
    expect(reply.json.error).toBe("INVALID_ACCOUNT_DETAILS");
  });
});

it("a replay asks no provider and verifies nothing again", async () => {
  // Two candidates: creating it needs quotes of both.
  const body = onramp({ src: { currencyCode: "USD", details: { countryCode: "US", rail: "ACH" } } });
  const first = await intent(body, "replayed");
  expect(first.status, first.text).toBe(201);
  await world.sandbox.set({ slowMs: 60_000 });
  const again = await intent(body, "replayed");
  await world.sandbox.set({ slowMs: 0 });
  expect([again.status, again.text]).toEqual([201, first.text]);
});
