import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { SANDBOX_PROVIDERS } from "../../../runtime/ramp/sandbox/sandbox-server.js";
import { Vault } from "../../../runtime/ramp/core/vault.js";
import { addIdentityProvider } from "../../../runtime/ramp/operator/identity-providers.js";
import { addWebhook } from "../../../runtime/ramp/webhooks/endpoints.js";
import { openDatabase } from "../../../runtime/ramp/database/ramp-database.js";
import { start } from "../../support/command.js";
import { migratedDatabase } from "../support/migrated.js";
import { startProcess } from "../support/processes.js";
import { ownReceiver } from "../support/receiver.js";
import {
  call,
  eventually,
  made,
  newProject,
  onramp,
  queryAt,
  ownSandbox,
  type Reply,
  SECRETS_KEY,
  untilTrue,
  WALLET,
} from "../support/world.js";

const databaseUrl = await migratedDatabase();
const sandbox = await ownSandbox();
const receiver = await ownReceiver();
const { said: issuer, kill } = await startProcess("./oidc-process.ts");
afterAll(() => kill());
const database = await openDatabase({ url: databaseUrl, onIdleError: () => undefined, maxConnections: 2 });
const vault = new Vault(SECRETS_KEY);
const project = await newProject(database, vault, sandbox);
made(
  await addIdentityProvider(database, project.id, {
    issuer,
    audiences: ["app"],
    clockSkewSeconds: 0,
    jwksUrl: null,
    allowHttp: false,
  }),
);
const { secret: webhookSecret } = made(
  await addWebhook(database, vault, project.id, {
    url: `${receiver.url}?k=hook-address-key`,
    allowPrivate: true,
  }),
);
await database.close();

const cwd = mkdtempSync(join(tmpdir(), "ramp-log-"));
afterAll(() => rmSync(cwd, { recursive: true, force: true }));
const running = start(cwd, ["serve", "--only", "ramp", "--ramp-port", "0"], {
  RAMP_DATABASE_URL: databaseUrl,
  RAMP_SECRETS_KEY: SECRETS_KEY.toString("hex"),
  LOG_LEVEL: "trace",
});
const [, url = ""] = await running.until(/"url":"(http:[^"]+)"[^\n]*"msg":"ramp listening"/);

/** All that must not be found; what comes up on the way is added. */
const secrets = new Map<string, string>([
  ["the client secret", project.clientSecret],
  ["the client's header", project.basic.slice(6)],
  ["the webhook's secret", webhookSecret.replace(/^whsec_/, "")],
  ["the webhook's address", "hook-address-key"],
  ["the secrets key in hexadecimal", SECRETS_KEY.toString("hex")],
  ["the secrets key in base64", SECRETS_KEY.toString("base64")],
  ["the database's password", decodeURIComponent(new URL(databaseUrl).password)],
  ["a wrong client secret", "wrong-client-secret-5d1c"],
  ["a wrong bearer token", "wrong-bearer-token-77aa"],
  ["a wrong subject token", "wrong-subject-token-c0de"],
  ["an account number", "987654321098"],
  ["a routing number", "021000089"],
  ["a PIX key", "98765432100"],
  ["a wallet", WALLET],
  ["a form's answer", "Very Private Name"],
  ["the sender of a travel rule", "Quillfeather"],
  ["the sender's address", "Milestone Lane"],
  ["the receiver of a travel rule", "Zimmerzoll"],
  ...SANDBOX_PROVIDERS.map(({ code, secret }): [string, string] => [`the secret of ${code}`, secret]),
]);

const asProject = (path: string, body: unknown, auth = project.basic): Promise<Reply> =>
  call(url, "POST", path, { auth, body });

async function idToken(claims: Readonly<Record<string, unknown>>): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  const all = { iss: issuer, aud: "app", sub: "erika", iat: now, exp: now + 300, ...claims };
  const token = await (await fetch(`${issuer}/token`, { method: "POST", body: JSON.stringify(all) })).text();
  secrets.set(`the subject token for ${JSON.stringify(claims)}`, token.slice(-40));
  return token;
}

async function newCustomer(body: Readonly<Record<string, unknown>>): Promise<string> {
  const { status, json, text } = await asProject("/v1/customers", body);
  expect(status, text).toBe(201);
  const token = String(json.accessToken);
  secrets.set(`the token of ${String(body["id"])}`, token.slice(-40));
  return `Bearer ${token}`;
}

const BANK = {
  countryCode: "US",
  rail: "ACH",
  provider: "sandbox-south",
  routingNumber: "021000089",
  accountNumber: "987654321098",
};
const fromBank = { src: { currencyCode: "USD", details: BANK }, autoExecute: true };
const toBank = {
  src: { currencyCode: "USDC_GNOSIS", details: { address: WALLET } },
  dest: { currencyCode: "BRL", details: { countryCode: "BR", rail: "PIX", key: "98765432100" } },
  srcAmount: "20",
  autoExecute: true,
};

const named = (last: string) => ({
  name: {
    nameIdentifier: [
      { primaryIdentifier: last, secondaryIdentifier: "Ada", naturalPersonNameIdentifierType: "LEGL" },
    ],
  },
});
const HOME = {
  addressType: "HOME",
  addressLine: ["Milestone Lane 7"],
  townName: "London",
  country: "GB",
};
const originator = {
  originatorPerson: [{ naturalPerson: { ...named("Quillfeather"), geographicAddress: [HOME] } }],
};
const beneficiary = { beneficiaryPerson: [{ naturalPerson: named("Zimmerzoll") }] };
/** Sandbox South asks for sender and receiver from 1000 on. */
const large = { ...fromBank, srcAmount: "1000.00" };
const withNames = { ...large, travelRule: { originator, beneficiary } };

async function goodWays(auth: string): Promise<void> {
  for (const body of [onramp(fromBank), onramp(withNames), toBank]) {
    const key = `good-${String(body["srcAmount"])}`;
    const created = await call(url, "POST", "/v1/intent", { auth, key, body });
    expect(created.status, created.text).toBe(201);
    await call(url, "POST", "/v1/intent", { auth, key, body });
    await eventually(
      () => call(url, "GET", `/v1/intent/${String(created.json.intent.id)}`, { auth }),
      ({ json }) => json.intent.status === "COMPLETED",
    );
    secrets.set(`the deposit's account ${key}`, "000123456789");
  }
  const accounts = {
    src: "USD",
    dest: "USDC_POLYGON",
    source: { rail: "ACH", routingNumber: "021000089", accountNumber: "987654321098" },
    destination: { address: WALLET },
  };
  const registered = await call(url, "POST", "/v1/customers/external-accounts", { auth, body: accounts });
  expect(registered.status, registered.text).toBeLessThan(500);
}

async function badRequests(auth: string): Promise<void> {
  const wrongSecret = Buffer.from(`${project.clientId}:wrong-client-secret-5d1c`).toString("base64");
  secrets.set("a wrong client's header", wrongSecret);
  const replies = [
    await asProject("/v1/customers", { id: "x" }, `Basic ${wrongSecret}`),
    await asProject("/v1/customers", { id: "x", subject_token: "wrong-subject-token-c0de" }),
    await asProject("/v1/customers", { id: "x", subject_token: await idToken({ aud: "other" }) }),
    await asProject("/v1/customers", { id: "x", subject_token: await idToken({ exp: 1 }) }),
    await call(url, "GET", "/v1/intent?access_token=wrong-bearer-token-77aa", {
      auth: "Bearer wrong-bearer-token-77aa",
    }),
    await call(url, "POST", "/v1/intent", { auth, text: `{"accountNumber":"987654321098",` }),
    await call(url, "POST", "/v1/intent", {
      auth,
      body: { ...onramp(withNames), travelRule: { originator, beneficiary: { Zimmerzoll: originator } } },
    }),
    await call(url, "POST", "/v1/intent", {
      auth,
      body: onramp({ src: { currencyCode: "USD", details: { ...BANK, routingNumber: "0210000891" } } }),
    }),
    await call(url, "POST", `/v1/provider-callbacks/${project.id}/${project.id}`, {
      text: `{"note":"Very Private Name"}`,
      headers: { "x-signature": "forged" },
    }),
    await call(url, "GET", `/v1/no-such/987654321098/${wrongSecret}`, { auth }),
  ];
  for (const { status } of replies) expect(status).toBeGreaterThanOrEqual(400);
  for (const { status } of replies) expect(status).toBeLessThan(500);
}

const failedCalls = (): number => running.printed().stdout.split("provider call failed").length - 1;

async function providerTrouble(auth: string): Promise<void> {
  for (const trouble of [
    { failNext: 4 },
    { execution: "refuse" },
    { execution: "fail" },
    { onboarding: "refuse" },
  ] as const) {
    const before = failedCalls();
    const create = async (): Promise<number> => {
      await sandbox.set(trouble);
      const body = onramp(withNames);
      const { status, text } = await call(url, "POST", "/v1/intent", { auth, body });
      expect(status, text).toBe(201);
      return failedCalls();
    };
    // The provider is called after the response. Now and then its quotes take up all failures.
    if ("failNext" in trouble) await eventually(create, (count) => count > before, undefined, 1_000);
    else await create();
    await sandbox.set({ failNext: 0, execution: "settle", onboarding: "wait" });
  }
}

/** Sender and receiver on the hosted page: in Greek letters, then while the provider fails, then for good. */
async function namesOnPage(auth: string): Promise<void> {
  const { json } = await call(url, "POST", "/v1/intent", { auth, body: onramp(large) });
  const page = new URL(String(json.onboardingUrl)).pathname;
  await eventually(
    () => call(url, "GET", page),
    ({ text }) => text.includes("Last name of the sender"),
  );
  const fields = {
    ...{ originatorFirstName: "Ada", originatorLastName: "Quillfeather", originatorTown: "London" },
    ...{ originatorAddress: "Milestone Lane 7", originatorCountry: "GB" },
    ...{ beneficiaryFirstName: "Grace", beneficiaryLastName: "Zimmerzoll" },
  };
  const send = async (more: Readonly<Record<string, string>>): Promise<number> => {
    const form = new URLSearchParams({ action: "submit", requirement: "TRAVEL_RULE" });
    for (const [name, value] of Object.entries({ ...fields, ...more })) form.set(`field.${name}`, value);
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    return (await call(url, "POST", page, { text: form.toString(), headers })).status;
  };
  expect(await send({ originatorLastName: "Quillfeather Κουίλ" })).toBe(422);
  await sandbox.set({ failNext: 4 });
  await send({});
  await sandbox.set({ failNext: 0 });
  expect(await send({})).toBe(303);
}

/** PostgreSQL's error about a refused row contains the row. */
async function databaseTrouble(auth: string): Promise<void> {
  await queryAt(databaseUrl, "ALTER TABLE ramp.intents ADD CONSTRAINT none CHECK (rail <> 'PIX') NOT VALID");
  await queryAt(
    databaseUrl,
    "ALTER TABLE ramp.external_accounts ADD CONSTRAINT none CHECK (label = 'none') NOT VALID",
  );
  const failed = await call(url, "POST", "/v1/intent", { auth, key: "fails", body: toBank });
  expect([failed.status, failed.json.error]).toEqual([500, "INTERNAL_ERROR"]);
  await queryAt(databaseUrl, "ALTER TABLE ramp.webhook_deliveries RENAME TO elsewhere");
  expect((await call(url, "POST", "/v1/intent", { auth, body: onramp(fromBank) })).status).toBe(500);
  await untilTrue(() => running.printed().stdout.includes("webhook deliveries not claimed"));
  await queryAt(databaseUrl, "ALTER TABLE ramp.elsewhere RENAME TO webhook_deliveries");
}

it("no secret, token or bank detail is ever logged, at the finest level, with all that can fail failing", async () => {
  const auth = await newCustomer({ id: "erika", subject_token: await idToken({}) });
  // Large payments are checked too.
  await sandbox.set({ onboarding: "approve" });
  await goodWays(auth);
  await badRequests(auth);
  receiver.status = 500;
  await namesOnPage(auth);
  await providerTrouble(auth);
  await eventually(
    () => queryAt(databaseUrl, "SELECT FROM ramp.webhook_deliveries WHERE last_result = '500'"),
    (rows) => rows.length > 0,
  );
  await databaseTrouble(auth);
  const { stdout, stderr, code } = await running.stop();
  expect(code).toBe(0);
  expect(stdout.split("\n").filter((line) => line.includes(`"msg":"request"`)).length).toBeGreaterThan(20);
  expect(stdout).toContain(`"msg":"request failed"`);
  expect(stdout).toContain("provider call failed");
  const found = [...secrets].filter(([, secret]) => `${stdout}${stderr}`.includes(secret));
  expect(found.map(([name]) => name)).toEqual([]);
});
