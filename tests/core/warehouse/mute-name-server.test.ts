/**
 * The name server of Redis, or of the database, no longer answers: all else is found. The service has a mount namespace of its own, in
 * which the system's name server is that of this file.
 */
import { spawnSync } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { Socket } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { exportJWK, SignJWT } from "jose";
import { describe, expect, it } from "vitest";
import { ownNameServer } from "../../ramp/support/name-server.js";
import { serve } from "../../support/command.js";
import { proxyOf } from "../../support/database-proxy.js";
import { byEngine, engineUrl, ownTables } from "../../support/engines.js";
import { sendRequest } from "../../support/http-client.js";
import { manifestOf } from "../../support/manifest.js";
import { needs } from "../../support/needs.js";
import { listen } from "../../support/port.js";
import { startRedis } from "../../support/redis.js";
import { KEYS, ownFolder, ownInstallation } from "../../support/service.js";

/** Of the loopback network, at the only port that `/etc/resolv.conf` can name; others have another. */
const NAME_SERVER = byEngine({ postgres: "127.0.0.54", clickhouse: "127.0.0.55" });

const canMount = spawnSync("unshare", ["-m", "true"]).status === 0;
if (!canMount) console.warn("SKIPPED: a mount namespace needs root (unshare -m).");

const schema = await ownTables({
  postgres: "CREATE TABLE @.orders AS SELECT 1 AS id",
  clickhouse: ["CREATE TABLE @.orders (id Int32) ORDER BY id", "INSERT INTO @.orders VALUES (1)"],
});
const manifest = manifestOf([
  {
    name: "orders",
    schema,
    tags: ["production", "shop", "api:orders"],
    columns: byEngine({ postgres: { id: "integer" }, clickhouse: { id: "Int32" } }),
    api: { methods: ["GET"], allow_unfiltered: true },
  },
]);

/** An issuer, and a token that it has not signed: its keys are fetched to find that out. */
async function ownIssuer() {
  const [own, foreign] = [1, 2].map(() => generateKeyPairSync("ec", { namedCurve: "P-256" }));
  if (!own || !foreign) throw new Error("no keys");
  const jwk = { ...(await exportJWK(own.publicKey)), kid: "k", alg: "ES256" };
  const server = createServer(({ url }, response) =>
    response.end(JSON.stringify(url === "/keys" ? { keys: [jwk] } : { issuer, jwks_uri: `${issuer}/keys` })),
  );
  const issuer = `http://${(await listen(server)).replace("127.0.0.1", "localhost")}`;
  const forged = await new SignJWT({ sub: "ann", aud: "orders", iss: issuer })
    .setProtectedHeader({ alg: "ES256", kid: "k" })
    .setExpirationTime("1h")
    .sign(foreign.privateKey);
  return { issuer, forged };
}

/** An address whose host is a name, and what closes its connections. */
async function named(url: string, hostname: string) {
  const clients = new Set<Socket>();
  const proxy = await proxyOf(url, (client, open) => {
    clients.add(client);
    const server = open();
    client.pipe(server).on("close", () => client.destroy());
    server.pipe(client).on("close", () => server.destroy());
  });
  const address = Object.assign(new URL(proxy.url), { hostname }).href;
  return { address, cut: () => clients.forEach((client) => client.destroy()) };
}

async function ownService(redisUrl: string) {
  const names = await ownNameServer(NAME_SERVER, 53);
  const file = join(ownFolder(), "resolv.conf");
  writeFileSync(file, `nameserver ${NAME_SERVER}\n`);
  const { issuer, forged } = await ownIssuer();
  const database = await named(engineUrl(), "database.test");
  const redis = await named(redisUrl, "redis.test");
  for (const name of ["database.test", "redis.test"]) names.addresses.set(name, ["127.0.0.1"]);
  const variables = {
    DATABASE_URL: database.address,
    REDIS_URL: redis.address,
    API_KEYS: JSON.stringify({ [KEYS.tier3]: "tier3" }),
    API_JWT_ISSUER: issuer,
    API_JWT_AUDIENCE: "orders",
    RATE_LIMITS: "100000000",
    USAGE_ENABLED: "false",
  };
  const inNamespace = ["unshare", "-m", "sh", "-c", 'mount --bind "$0" /etc/resolv.conf && exec "$@"', file];
  const { url } = await serve(ownInstallation(manifest), ["--only", "data"], variables, inNamespace);
  const rows = async () => (await sendRequest(url, "/v1/shop/orders", { key: KEYS.tier3 })).status;
  const refused = async () =>
    (await sendRequest(url, "/health", { headers: { authorization: `Bearer ${forged}` } })).status;
  return { names, database, redis, rows, refused };
}

/** Longer than it takes until look-ups that nobody waits for come together. */
const MUTE_MS = 15_000;

describe.skipIf(!canMount || !needs("redis-server"))("a name server that no longer answers", () => {
  it("for the names of Redis and of the database does not keep others from being found", async () => {
    const { names, database, redis, rows, refused } = await ownService((await startRedis()).url);
    expect(await rows()).toBe(200);
    names.addresses.delete("redis.test");
    redis.cut();
    await sleep(MUTE_MS);
    for (let n = 0; n < 5; n++) {
      database.cut();
      await expect.poll(rows, { timeout: 30_000, interval: 100 }).toBe(200);
    }

    names.addresses.delete("database.test");
    database.cut();
    const failed = Array.from({ length: 20 }, rows);
    await sleep(MUTE_MS);
    await expect.poll(refused, { timeout: 30_000, interval: 100 }).toBe(401);
    expect(new Set(await Promise.all(failed))).toEqual(new Set([503]));

    names.addresses.set("database.test", ["127.0.0.1"]);
    await expect.poll(rows, { interval: 200 }).toBe(200);
  });
});
