import { createServer } from "node:http";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { KeyDatabase } from "../../../runtime/server/accounts/key-database.js";
import { type Served, serve } from "../../support/command.js";
import { databaseUrl, ownDatabase, queryAt } from "../../support/database.js";
import { putJson } from "../../support/files.js";
import { sendRequest } from "../../support/http-client.js";
import { manifestOf } from "../../support/manifest.js";
import { listen } from "../../support/port.js";
import { generateInto, ownFolder } from "../../support/service.js";

/** All of it: `EVENT_BUILDS=1000 EVENT_SUBSCRIBERS=200`. */
const BUILDS = Number(process.env["EVENT_BUILDS"] ?? 20);
const SUBSCRIBERS = Number(process.env["EVENT_SUBSCRIBERS"] ?? 12);
const PER_KEY = 20;
const SERVERS = 3;
/** A server is killed after so many steps, each of which builds all models, and not before the last one is replaced: two are left. */
const STEPS_PER_KILL = 2;

/** Three hours, of which a run takes as many as its machine needs: all of it sends 200,000 requests. */
vi.setConfig({ testTimeout: 10_800_000 });

const OPEN = ["one", "two", "three", "four"];
const MODELS = [...OPEN, "locked"];
const MANIFEST = manifestOf([
  ...OPEN.map((name) => ({ name, columns: { id: "int" } })),
  { name: "locked", columns: { id: "int" }, tags: ["production", "shop", "api:locked", "tier3"] },
]);
const SOON = { timeout: 120_000, interval: 50 };
/** A run ends where no receiver gets anything for so long: what a killed server was sending waits for 35 seconds. */
const MAX_SILENCE_MS = 120_000;

/** What receivers got, by receiver and path, in the order in which it came: `as_of`. */
async function ownReceivers() {
  const got = new Map<string, string[]>();
  let requests = 0;
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => (body += chunk.toString()));
    request.on("end", () => {
      requests++;
      const { data } = JSON.parse(body) as { data: { path: string; as_of: string } };
      const name = `${request.url ?? ""} ${data.path}`;
      got.set(name, [...(got.get(name) ?? []), data.as_of]);
      response.writeHead(204).end();
    });
  });
  return { url: `http://${await listen(server)}`, got, requests: () => requests };
}

async function startServers(variables: Readonly<Record<string, string>>) {
  const folders = Array.from({ length: SERVERS }, () => ownFolder());
  for (const folder of folders) generateInto(join(folder, "generated"), MANIFEST);
  const start = (folder: string): Promise<Served> => serve(folder, ["--only", "data"], variables);
  const servers = await Promise.all(folders.map(start));
  let kills = 0;
  const replace = async (i: number): Promise<void> => {
    const { child } = servers[i] as Served;
    child.kill("SIGKILL");
    kills++;
    servers[i] = await start(folders[i] ?? "");
  };
  return { servers, replace, kills: () => kills };
}

/** A client that comes back to another server with the id of its last event, as often as it is cut off. */
function follow(servers: readonly Served[], key: string) {
  const got: string[] = [];
  const abort = new AbortController();
  let lastId = "";
  const run = async (): Promise<void> => {
    for (let turn = 0; !abort.signal.aborted; turn++) {
      const url = servers[turn % SERVERS]?.url ?? "";
      const headers = { "x-api-key": key, ...(lastId !== "" && { "last-event-id": lastId }) };
      try {
        const response = await fetch(`${url}/v1/system/events?path=/v1/shop/one`, {
          headers,
          signal: abort.signal,
        });
        for await (const text of (response.body ?? new ReadableStream()).pipeThrough(new TextDecoderStream()))
          for (const [, id, asOf] of text.matchAll(/^id: (\d+)\n(?:retry|[^]*?"as_of":"([^"]+)")/gm)) {
            lastId = id ?? "";
            if (asOf !== undefined) got.push(asOf);
          }
      } catch {
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    }
  };
  const running = run();
  return { got, hasBegun: () => lastId !== "", stop: () => (abort.abort(), running) };
}

it("each event of each build comes once or more and in order, whatever server is killed, and none of a locked endpoint", async () => {
  const KEYS_DATABASE_URL = await ownDatabase();
  const store = await KeyDatabase.open(KEYS_DATABASE_URL);
  const results = join(ownFolder(), "run_results.json");
  const variables = {
    ...{
      DATABASE_URL: databaseUrl,
      KEYS_DATABASE_URL,
      USAGE_ENABLED: "false",
      DBT_RUN_RESULTS_PATH: results,
    },
    ...{ WEBHOOK_SECRETS_KEY: "5a".repeat(32), WEBHOOK_ALLOW_PRIVATE: "true" },
  };
  const last = new Map<string, string>();
  const write = (): void =>
    putJson(results, {
      metadata: {
        dbt_schema_version: "https://schemas.getdbt.com/dbt/run-results/v6.json",
        generated_at: new Date().toISOString(),
      },
      results: [...last].map(([name, completed_at]) => ({
        ...{ unique_id: `model.test.${name}`, status: "success" },
        timing: [{ name: "execute", completed_at }],
      })),
      args: { which: "build" },
    });
  write();
  const { servers, replace, kills } = await startServers(variables);
  const receivers = await ownReceivers();
  const keys: string[] = [];
  for (let i = 0; i < SUBSCRIBERS; i++) {
    if (i % PER_KEY === 0) {
      const made = await store.create({ tier: "tier1", user: "a", org: "acme" });
      if (!made.ok) throw new Error(made.problems.join(" "));
      keys.push(made.value.key);
    }
    const subscribed = () =>
      sendRequest(servers[0]?.url ?? "", "/v1/system/subscriptions", {
        ...{ method: "POST", key: keys.at(-1) ?? "", body: { url: `${receivers.url}/${String(i)}` } },
      }).then(({ status }) => status);
    await expect.poll(subscribed, SOON).toBe(201);
  }
  const client = follow(servers, keys[0] ?? "");
  await expect.poll(client.hasBegun, SOON).toBe(true);
  const builds: string[] = [];
  let replacing: Promise<void> | null = null;
  const start = performance.now();
  for (let step = 0; builds.length * OPEN.length < BUILDS; step++) {
    const asOf = new Date(Date.now()).toISOString();
    builds.push(asOf);
    for (const name of MODELS) last.set(name, asOf);
    write();
    if (step % STEPS_PER_KILL === 1 && replacing === null)
      replacing = replace(kills() % SERVERS).finally(() => (replacing = null));
    const told = () =>
      queryAt(
        KEYS_DATABASE_URL,
        "SELECT count(*)::int AS told FROM routewright_events.events WHERE data->>'as_of' = $1",
        [asOf],
      );
    await expect.poll(told, SOON).toEqual([{ told: MODELS.length }]);
  }
  await replacing;
  const each = Array.from({ length: SUBSCRIBERS }, (_, i) =>
    OPEN.map((name) => `/${String(i)} /v1/shop/${name}`),
  ).flat();
  const isDone = () => each.filter((name) => receivers.got.get(name)?.at(-1) === builds.at(-1)).length;
  const sent = each.length * builds.length;
  const built = (performance.now() - start) / 1000;
  for (let [before, since] = [0, performance.now()]; isDone() < each.length;) {
    await new Promise((resolve) => setTimeout(resolve, 250));
    if (receivers.requests() > before) [before, since] = [receivers.requests(), performance.now()];
    const progress = `${String(before)} requests, ${String(isDone())} of ${String(each.length)} receivers have the last event`;
    expect(performance.now() - since, progress).toBeLessThan(MAX_SILENCE_MS);
  }
  const seconds = (performance.now() - start) / 1000;
  console.log(
    `${String(builds.length * OPEN.length)} builds, ${String(SUBSCRIBERS)} subscribers, ${String(kills())} kills: ${String(receivers.requests())} requests for ${String(sent)} deliveries in ${seconds.toFixed(0)} s, ${built.toFixed(0)} of them until the last build`,
  );
  for (const name of each) {
    const got = receivers.got.get(name) ?? [];
    expect([name, [...new Set(got)]]).toEqual([name, builds]);
    expect(got).toEqual([...got].sort());
  }
  expect([...receivers.got.keys()].filter((name) => name.endsWith("/locked"))).toEqual([]);
  await expect.poll(() => client.got.at(-1), SOON).toBe(builds.at(-1));
  expect([...new Set(client.got)]).toEqual(builds);
  await client.stop();
  const [{ events } = { events: 0 }] = await queryAt(
    KEYS_DATABASE_URL,
    "SELECT count(*)::int AS events FROM routewright_events.events WHERE path IS NOT NULL",
  );
  expect(events).toBe(builds.length * MODELS.length);
  for (const server of servers) expect((await server.stop()).code).toBe(0);
  await store.close();
});
