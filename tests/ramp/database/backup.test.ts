/**
 * The documented backup: the commands of runtime/ramp/docs/operations.md, from a cluster into an empty one, as a superuser and as the owner of
 * the database without any right in the cluster. What was recorded is there, and the service goes on.
 */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { openDatabase } from "../../../runtime/ramp/database/ramp-database.js";
import { migrate } from "../../../runtime/ramp/database/migrate.js";
import { startRamp } from "../../../runtime/ramp/start-ramp.js";
import { needs } from "../../support/needs.js";
import { ownCluster } from "../support/cluster.js";
import { ownReceiver } from "../support/receiver.js";
import { projectWithWebhook } from "../support/recovery.js";
import { SERVER } from "../support/server.js";
import {
  call,
  FAST,
  newCustomer,
  onramp,
  ownSandbox,
  queryAt,
  reached,
  SECRETS_KEY,
  untilTrue,
} from "../support/world.js";

const PAGE = new URL("../../../runtime/ramp/docs/operations.md", import.meta.url);
/** The two commands of the page that write and read the backup. */
const [DUMP = "", RESTORE = ""] = [
  ...readFileSync(PAGE, "utf8").matchAll(/^(?:PGOPTIONS=.*pg_dump|psql) .*(?:\\\n.*)*/gm),
].map(([command]) => command);
const run = promisify(execFile);

const serve = (databaseUrl: string) =>
  startRamp({ ...SERVER, databaseUrl, secretsKey: SECRETS_KEY, polling: FAST });

/** An intent of a new customer, from its creation to COMPLETED. */
async function complete(url: string, basic: string): Promise<string> {
  const world = {
    call: (...given: Parameters<typeof call> extends [string, ...infer R] ? R : never) => call(url, ...given),
  };
  const auth = await newCustomer(world as never, { basic } as never);
  const created = await world.call("POST", "/v1/intent", { auth, body: onramp({ autoExecute: true }) });
  expect(created.status, created.text).toBe(201);
  await reached(world, `/v1/intent/${String(created.json.intent.id)}`, { auth }, "COMPLETED");
  return String(created.json.intent.id);
}

it.skipIf(!needs("initdb", "pg_dump")).each(["superuser", "owner"] as const)(
  "restores on an empty cluster as %s: all rows are there, and an intent goes from its creation to COMPLETED",
  { timeout: 300_000 },
  async (kind) => {
    const [before, after] = [await ownCluster(kind), await ownCluster(kind)];
    const [sandbox, receiver] = [await ownSandbox(), await ownReceiver()];
    await sandbox.set({ settleMs: 50 });
    await migrate(before.url);
    const { project, secret } = await projectWithWebhook(before.url, sandbox, receiver);
    const first = await serve(before.url);
    const kept = await complete(first.url, project.basic);
    // A callback that arrives now would be in the backup and not in the sums.
    await first.stop();
    const sums = await before.counts();
    expect(sums).toMatchObject({ projects: "1", intents: "1", provider_connections: "2" });
    const file = `${after.folder}/ramp.sql`;
    const sh = (command: string, url: string) =>
      run("sh", ["-c", command.replaceAll("ramp.sql", file)], {
        env: { ...process.env, PATH: after.path, RAMP_DATABASE_URL: url },
      });
    await sh(DUMP, before.url);
    const second = await serve(before.url);
    // Sent after the backup.
    await complete(second.url, project.basic);
    await untilTrue(() => receiver.received.length >= 22);
    await second.stop();
    const sent = receiver.verified(secret).map(({ sequence }) => sequence);

    const { stderr } = await sh(RESTORE, after.url);
    expect(stderr).not.toMatch(/ERROR/);
    expect(await after.counts()).toEqual(sums);
    if (kind === "superuser") {
      const unready = await openDatabase({ url: after.url, onIdleError: () => undefined, maxConnections: 1 });
      expect((await unready.reach()).problem).toContain("routewright_ramp_project");
      await unready.close();
    }
    await migrate(after.url);
    const restored = await serve(after.url);
    const health = await call(restored.url, "GET", "/health");
    expect([health.status, health.json.status]).toEqual([200, "ok"]);
    const read = await call(restored.url, "GET", `/v1/intents/${kept}`, { auth: project.basic });
    expect(read.json.intent.status).toBe("COMPLETED");
    receiver.received.length = 0;
    const id = await complete(restored.url, project.basic);
    await untilTrue(() =>
      receiver.received.some(({ body }) => body.includes('"status":"COMPLETED"') && body.includes(id)),
    );
    await restored.stop();
    const later = receiver.verified(secret).filter(({ data }) => data["intentId"] === id);
    expect(Math.min(...later.map(({ sequence }) => sequence))).toBeGreaterThan(Math.max(...sent));
  },
);

it.skipIf(!needs("initdb", "pg_dump"))(
  "a backup of the owner that does not read as the operator fails, and is not empty",
  async () => {
    const { url, path, folder } = await ownCluster("owner");
    await migrate(url);
    await queryAt(
      url,
      `SET ramp.operator = 'on'; INSERT INTO ramp.organizations (id, name) VALUES (gen_random_uuid(), 'x');
     INSERT INTO ramp.projects (id, organization_id, name, client_id) SELECT gen_random_uuid(), id, 'x', 'x' FROM ramp.organizations`,
    );
    const dump = DUMP.replace(/^PGOPTIONS='[^']*' /, "").replaceAll("ramp.sql", `${folder}/ramp.sql`);
    const env = { ...process.env, PATH: path, RAMP_DATABASE_URL: url };
    await expect(run("sh", ["-c", dump], { env })).rejects.toMatchObject({
      stderr: expect.stringContaining("ramp.operator"),
    });
  },
);
