import { afterAll, describe, expect, it } from "vitest";
import { atEnd } from "../../support/at-end.js";
import { rotateVault, SEALED_COLUMNS, unreadableSecrets, Vault } from "../../../runtime/ramp/core/vault.js";
import { updateProject } from "../../../runtime/ramp/operator/projects.js";
import { startRamp } from "../../../runtime/ramp/start-ramp.js";
import { startProcess } from "../support/processes.js";
import { ownReceiver } from "../support/receiver.js";
import { SERVER } from "../support/server.js";
import {
  call,
  eventually,
  FAST,
  made,
  newCustomer,
  north,
  onramp,
  ownWorld,
  SECRETS_KEY,
} from "../support/world.js";

const publicUrl = "http://ramp.example.com";
const NEW_KEY = Buffer.alloc(32, 9);
// Step 1 of a rotation (runtime/ramp/docs/operations.md, Master key).
const world = await ownWorld({ publicUrl, otherSecretsKeys: [NEW_KEY] });
const node = await startProcess("./ethereum-node-process.ts");
afterAll(() => node.kill());

const name = { nameIdentifier: [{ primaryIdentifier: "Ada", naturalPersonNameIdentifierType: "LEGL" }] };
const travelRule = {
  originator: { originatorPerson: [{ naturalPerson: { name, customerIdentification: "42" } }] },
  beneficiary: { beneficiaryPerson: [{ naturalPerson: { name } }] },
};

describe("the master key", () => {
  it("is rotated while everything keeps working: connections, webhooks, tokens, replays, page links", async () => {
    const project = await world.project();
    made(await updateProject(world, project.id, { walletRpc: [`137=${node.said}`] }));
    const receiver = await ownReceiver();
    const { secret } = await world.webhook(project, receiver.url);
    const auth = await newCustomer(world, project);
    const create = { auth, key: "before", body: north({ srcAmount: "500.00", travelRule }) };
    const before = await world.call("POST", "/v1/intent", create);
    expect(before.status, before.text).toBe(201);

    const vault = new Vault(NEW_KEY, [SECRETS_KEY]);
    const { resealed } = await rotateVault(world.database, vault);
    expect(resealed).toBeGreaterThanOrEqual(SEALED_COLUMNS.length);
    // The server still seals with the old key.
    const unreadable = async () => {
      await rotateVault(world.database, vault);
      return unreadableSecrets(world.database, new Vault(NEW_KEY));
    };
    await eventually(unreadable, (columns) => columns.length === 0);
    expect((await unreadableSecrets(world.database, new Vault(SECRETS_KEY))).length).toBeGreaterThan(3);
    await world.stop();

    const ramp = await startRamp({
      ...SERVER,
      databaseUrl: world.databaseUrl,
      secretsKey: NEW_KEY,
      otherSecretsKeys: [SECRETS_KEY],
      publicUrl,
      // Nothing listens there: limits are counted by the process, and /health says so.
      redisUrl: "redis://127.0.0.1:1",
      polling: FAST,
    });
    atEnd(() => ramp.stop());
    await eventually(
      () => call(ramp.url, "GET", "/health"),
      ({ status, json }) => status === 200 && json.status === "degraded" && /^Redis is/.test(json.detail),
    );
    const again = await call(ramp.url, "POST", "/v1/intent", create);
    expect(again.headers.get("x-idempotency-replayed")).toBe("true");
    expect(again.text).toBe(before.text);
    const page = await call(ramp.url, "GET", new URL(before.json.onboardingUrl).pathname);
    expect(page.status).toBe(200);
    const later = await call(ramp.url, "POST", "/v1/intent", { auth, body: onramp() });
    expect(later.status, later.text).toBe(201);
    const events = await eventually(
      () => Promise.resolve(receiver.verified(secret)),
      (all) => all.some(({ data }) => JSON.stringify(data).includes(String(later.json.intent.id))),
    );
    expect(events.length).toBeGreaterThan(0);
  });

  it("has every sealed column in the list of what a rotation seals again", async () => {
    const columns =
      await world.rows(`SELECT table_name || '.' || column_name AS name FROM information_schema.columns
       WHERE table_schema = 'ramp' AND data_type = 'bytea' ORDER BY 1`);
    const hashes = [
      "client_secrets.hash",
      "idempotency_claims.fingerprint",
      "provider_answers.digest",
      "provider_callbacks.digest",
    ];
    expect(columns.map(({ name }) => name)).toEqual(
      [...hashes, ...SEALED_COLUMNS.map(({ table, column }) => `${table}.${column}`)].sort(),
    );
  });

  it("that is not among the keys opens nothing, and a value opens for its own purpose only", () => {
    const [one, two] = [new Vault(SECRETS_KEY), new Vault(NEW_KEY)];
    const sealed = one.seal("webhook:a", "secret");
    expect(one.open("webhook:a", sealed)).toBe("secret");
    expect(new Vault(NEW_KEY, [SECRETS_KEY]).open("webhook:a", sealed)).toBe("secret");
    expect(() => two.open("webhook:a", sealed)).toThrow("No key opens");
    expect(() => one.open("webhook:b", sealed)).toThrow("No key opens");
    expect(() => one.open("webhook:a", sealed.subarray(0, 10))).toThrow("No key opens");
  });
});
