/** Documents and pages of the documentation have a limit of their own by address. */
import { expect, it } from "vitest";
import { clientAddress } from "../../../runtime/core/environment/common.js";
import { RAMP_DEFAULTS } from "../../../runtime/ramp/environment.js";
import { setClockBack } from "../../support/clock.js";
import { type Reply, sendRequest } from "../../support/http-client.js";
import { SERVER } from "../support/server.js";
import { newCustomer, ownWorld, type World } from "../support/world.js";

const DOCUMENTS = [
  "/",
  "/docs",
  "/docs/",
  "/redoc",
  "/docs/frame.css",
  "/docs/favicon-32x32.png",
  "/openapi.json",
  "/guide",
  "/guide/provider-protocol.md",
];

/** A server behind a proxy, so that a test may come from any address. */
const serve = (documentsPerAddress: number): Promise<World> =>
  ownWorld({
    addressOf: clientAddress("127.0.0.1"),
    limits: { ...SERVER.limits, perAddress: 100, documentsPerAddress },
  });

it.each(DOCUMENTS)("%s counts by address, and not against the caller's window", async (path) => {
  const { url } = await serve(2);
  // A window ends by this clock.
  setClockBack(0);
  const ask = (address: string): Promise<Reply> =>
    sendRequest(url, path, { headers: { "x-forwarded-for": address } });
  const first = await ask("192.0.2.1");
  expect(first.status).toBeLessThan(400);
  expect(await ask("192.0.2.1")).toMatchObject({ status: first.status, text: first.text });
  const over = await ask("192.0.2.1");
  expect([over.status, JSON.parse(over.text)]).toMatchObject([429, { error: "RATE_LIMITED" }]);
  const wait = Number(over.headers["retry-after"]);
  expect(wait).toBeGreaterThan(0);
  // Whole seconds, the last one counted.
  expect(wait).toBeLessThanOrEqual(61);
  expect((await ask("192.0.2.2")).status).toBe(first.status);
});

it("documents are one limit together, by network in IPv6, and cost no customer a request", async () => {
  const world = await serve(2);
  const auth = await newCustomer(world, await world.project());
  // A window ends by this clock.
  setClockBack(0);
  const ask = async (path: string, address: string): Promise<number> => {
    const headers = { "x-forwarded-for": address, authorization: auth };
    return (await sendRequest(world.url, path, { headers })).status;
  };
  expect(await ask("/docs", "2001:db8::1")).toBe(200);
  expect(await ask("/openapi.json", "2001:db8::2")).toBe(200);
  expect(await ask("/redoc", "2001:db8::3")).toBe(429);
  expect(await ask("/v1/intent", "2001:db8::3")).toBe(200);
  expect(await ask("/v1/auth/wallet/nonce", "2001:db8::3")).toBe(200);
  for (let i = 0; i < 5; i++) expect(await ask("/health", "2001:db8::3")).toBe(200);
});

it("documents are 300 a minute by default", async () => {
  const { url } = await ownWorld({ limits: RAMP_DEFAULTS.limits });
  // A window ends by this clock.
  setClockBack(0);
  const statuses = new Map<number, number>();
  for (let i = 0; i < 310; i++) {
    const { status } = await sendRequest(url, "/openapi.json", { method: "HEAD" });
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
  }
  expect([...statuses]).toEqual([
    [200, 300],
    [429, 10],
  ]);
});
