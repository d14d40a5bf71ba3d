/** The service's identity in its tokens is stored: its address can change. */
import jwt from "jsonwebtoken";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { createSiweMessage } from "viem/siwe";
import { expect, it } from "vitest";
import { atEnd } from "../../support/at-end.js";
import { startRamp } from "../../../runtime/ramp/start-ramp.js";
import { SERVER } from "../support/server.js";
import { call, FAST, newCustomer, ownWorld, SECRETS_KEY, type TestProject } from "../support/world.js";

const DOMAIN = "app.example.com";

async function signIn(
  base: string,
  project: TestProject,
  account = privateKeyToAccount(generatePrivateKey()),
) {
  const nonce = (await call(base, "GET", "/v1/auth/wallet/nonce")).text;
  const uri = `https://${DOMAIN}/`;
  const fields = { address: account.address, chainId: 1, domain: DOMAIN, nonce, uri, version: "1" } as const;
  const message = createSiweMessage(fields);
  const body = { message, signature: await account.signMessage({ message }) };
  const { json, text } = await call(base, "POST", "/v1/auth/wallet/challenge", { body });
  expect(json?.token, text).toBeTruthy();
  const exchange = (id: string, at = base) =>
    call(at, "POST", "/v1/customers", { auth: project.basic, body: { id, subject_token: json.token } });
  return { account, token: String(json.token), exchange };
}

async function ownServer(databaseUrl: string, publicUrl: string): Promise<string> {
  const options = { databaseUrl, secretsKey: SECRETS_KEY, ...SERVER, polling: FAST, publicUrl };
  const ramp = await startRamp(options);
  atEnd(() => ramp.stop());
  return ramp.url;
}

it("tokens and wallets outlive the address: they are good at the new one, and a wallet is one identity", async () => {
  const world = await ownWorld({ publicUrl: "https://old.example" });
  const moved = await ownServer(world.databaseUrl, "https://new.example/ramp");
  const project = await world.project({ walletDomains: [DOMAIN] });
  const before = await newCustomer(world, project, "plain");
  expect((await call(moved, "GET", "/v1/intent", { auth: before })).status).toBe(200);
  const after = await call(moved, "POST", "/v1/customers", { auth: project.basic, body: { id: "plain" } });
  expect((jwt.decode(String(after.json.accessToken)) as jwt.JwtPayload).iss).toBe("https://old.example");
  const auth = `Bearer ${String(after.json.accessToken)}`;
  expect((await world.call("GET", "/v1/intent", { auth })).status).toBe(200);

  const first = await signIn(world.url, project);
  expect((await first.exchange("ada", moved)).status).toBe(201);
  // The same wallet at the new address is the same identity; another one is not the customer's.
  const again = await signIn(moved, project, first.account);
  expect((await again.exchange("ada")).status).toBe(201);
  expect((await again.exchange("grace")).json.error).toBe("IDENTITY_CONFLICT");
  const second = await signIn(moved, project);
  expect((await second.exchange("ada")).json.error).toBe("IDENTITY_CONFLICT");
  expect(await world.rows("SELECT issuer FROM ramp.customer_identities")).toEqual([
    { issuer: "https://old.example/v1/auth/wallet" },
  ]);
});

it("a database of before keeps the address that it has, and of two wallets of a customer the first", async () => {
  const world = await ownWorld({ publicUrl: "https://now.example" });
  const project = await world.project({ walletDomains: [DOMAIN] });
  const wallet = await signIn(world.url, project);
  expect((await wallet.exchange("ada")).status).toBe(201);
  const [customer] = await world.rows("SELECT customer_id AS id FROM ramp.customer_identities");
  await newCustomer(world, project, "grace");
  await world.stop();
  // As servers of before left it: each address was an issuer of its own.
  await world.rows("DELETE FROM ramp.deployment");
  await world.rows("UPDATE ramp.customer_identities SET issuer = 'https://first.example/v1/auth/wallet'");
  await world.rows(
    `INSERT INTO ramp.customer_identities (project_id, customer_id, issuer, subject, is_wallet, created_at) VALUES
       ($1, $2, 'https://now.example/v1/auth/wallet', 'eip155:0:0x01', true, now() + interval '1 s'),
       ($1, (SELECT id FROM ramp.customers WHERE external_id = 'grace'), 'https://now.example/v1/auth/wallet', $3, true, now() + interval '2 s')`,
    [project.id, customer?.["id"], `eip155:0:${wallet.account.address.toLowerCase()}`],
  );
  const url = await ownServer(world.databaseUrl, "https://now.example");
  expect(await world.rows("SELECT customer_id AS id, issuer, subject FROM ramp.customer_identities")).toEqual(
    [
      {
        id: customer?.["id"],
        issuer: "https://now.example/v1/auth/wallet",
        subject: `eip155:0:${wallet.account.address.toLowerCase()}`,
      },
    ],
  );
  const again = await signIn(url, project, wallet.account);
  expect((await again.exchange("ada")).status).toBe(201);
  expect((await again.exchange("grace")).json.error).toBe("IDENTITY_CONFLICT");
});
