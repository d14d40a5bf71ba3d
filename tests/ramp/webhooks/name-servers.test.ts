/** `RAMP_NAME_SERVERS`: who is asked for the names of webhooks, which projects choose. */
import { expect, it } from "vitest";
import { readRampEnvironment } from "../../../runtime/ramp/environment.js";
import { ownNameServer } from "../support/name-server.js";
import { ownWorld } from "../support/world.js";

it("are asked for the names of webhooks, in place of the system's, and no other names", async () => {
  const [first, second] = [await ownNameServer(), await ownNameServer()];
  const reading = readRampEnvironment({ RAMP_NAME_SERVERS: `${first.address}, ${second.address}` });
  if (!reading.ok) throw new Error(reading.problems.join(" "));
  const { nameServers } = reading.value.environment;
  expect(nameServers).toEqual([first.address, second.address]);
  for (const { addresses } of [first, second]) {
    addresses.set("hooks.inside.test", ["10.0.0.1"]);
    addresses.set("hooks.shop.test", ["93.184.216.34"]);
  }
  const world = await ownWorld({ nameServers });
  const project = await world.project();
  const add = async (host: string): Promise<readonly [number, unknown]> => {
    const body = { url: `https://${host}/` };
    const { status, json } = await world.call("POST", "/v1/webhooks", { auth: project.basic, body });
    return [status, json];
  };
  expect(await add("hooks.inside.test")).toMatchObject([400, { error: "INVALID_REQUEST" }]);
  expect((await add("hooks.shop.test"))[0]).toBe(201);
  expect(await add(`${"long.".repeat(60)}test`)).toMatchObject([400, { error: "INVALID_REQUEST" }]);
  const asked = new Set([...first.asked, ...second.asked]);
  expect([...asked].sort()).toEqual(["hooks.inside.test", "hooks.shop.test"]);
});

it.each(["127.0.0.1", "127.0.0.1:5353", "::1", "[::1]:53"])("may be %s", (text) => {
  expect(readRampEnvironment({ RAMP_NAME_SERVERS: text })).toMatchObject({
    value: { environment: { nameServers: [text] } },
  });
});

it.each(["dns.shop.test", "127.0.0.1:99999", "127.0.0.1:", "[::1", "https://127.0.0.1"])(
  "are not %s",
  (text) => {
    expect(readRampEnvironment({ RAMP_NAME_SERVERS: text })).toMatchObject({
      ok: false,
      problems: [expect.stringContaining("RAMP_NAME_SERVERS")],
    });
  },
);
