/**
 * A tenant's webhook at a name whose name server never answers stops nobody else. The ramp's process has a mount namespace of its own, in
 * which the system's name server is that of this file: look-ups of the system and those of webhooks reach it alike.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { atEnd } from "../../support/at-end.js";
import { openDatabase } from "../../../runtime/ramp/database/ramp-database.js";
import { Vault } from "../../../runtime/ramp/core/vault.js";
import { addWebhook } from "../../../runtime/ramp/webhooks/endpoints.js";
import { migratedDatabase } from "../support/migrated.js";
import { ownNameServer } from "../support/name-server.js";
import { startProcess } from "../support/processes.js";
import { call, made, newProject, ownSandbox, SECRETS_KEY, untilTrue } from "../support/world.js";

/** Of the loopback network, at the only port that `/etc/resolv.conf` can name. */
const NAME_SERVER = "127.0.0.53";

const canMount = spawnSync("unshare", ["-m", "true"]).status === 0;
if (!canMount) console.warn("SKIPPED: a mount namespace needs root (unshare -m).");

async function ownRamp() {
  const names = await ownNameServer(NAME_SERVER, 53);
  const folder = mkdtempSync(join(tmpdir(), "ramp-names-"));
  atEnd(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "resolv.conf");
  writeFileSync(file, `nameserver ${NAME_SERVER}\n`);
  const databaseUrl = await migratedDatabase();
  const database = await openDatabase({ url: databaseUrl, onIdleError: () => undefined, maxConnections: 2 });
  atEnd(() => database.close());
  const vault = new Vault(SECRETS_KEY);
  const { url: sandbox } = await ownSandbox();
  // By name, as operators have it: the hosts file knows it.
  const at = { url: sandbox.replace("127.0.0.1", "localhost") };
  const [loud, quiet] = [await newProject(database, vault, at), await newProject(database, vault, at)];
  const inNamespace = ["unshare", "-m", "sh", "-c", 'mount --bind "$0" /etc/resolv.conf && exec "$@"', file];
  const { said, kill } = await startProcess(
    "./ramp-process.ts",
    { RAMP_TEST_DATABASE: databaseUrl },
    inNamespace,
  );
  atEnd(() => kill());
  const webhook = async (url: string) =>
    made(await addWebhook(database, vault, loud.id, { url, allowPrivate: true })).webhookId;
  const setPublic = () => database.operator.rows("UPDATE ramp.webhook_endpoints SET allow_private = false");
  return { names, loud, quiet, url: said, webhook, setPublic };
}

const QUOTE =
  "/v1/intent/quote?srcCurrencyCode=USD&destCurrencyCode=USDC_POLYGON&srcAmount=100.00&countryCode=US";

describe.skipIf(!canMount)("a webhook at a name whose name server never answers", () => {
  it("is read 25 times at once while others get their answers", async () => {
    const { url, loud, quiet, webhook, setPublic } = await ownRamp();
    const id = await webhook("https://hooks.slow.test/");
    await setPublic();
    const reads = Array.from({ length: 25 }, () =>
      call(url, "GET", `/v1/webhooks/${id}`, { auth: loud.basic }),
    );
    for (let at = 0; at < 20; at += 1) {
      const others = ["/v1/webhooks", "/health"].map((path) => call(url, "GET", path, { auth: quiet.basic }));
      expect((await Promise.all(others)).map(({ status }) => status)).toEqual([200, 200]);
    }
    for (const { status } of await Promise.all(reads)) expect(status).toBe(200);
  });

  it("is tested 20 times while another project's quotes come", async () => {
    const { url, names, loud, quiet, webhook, setPublic } = await ownRamp();
    const id = await webhook("https://hooks.slow.test/");
    await setPublic();
    const test = () => call(url, "POST", `/v1/webhooks/${id}/test`, { auth: loud.basic, body: {} });
    for (const { status } of await Promise.all(Array.from({ length: 20 }, test))) expect(status).toBe(202);
    await untilTrue(() => names.asked.includes("hooks.slow.test"));
    const quotes = await call(url, "GET", QUOTE, { auth: quiet.basic });
    expect(quotes.json).toMatchObject({ unavailable: [], quotes: [{}, {}] });
  });
});
