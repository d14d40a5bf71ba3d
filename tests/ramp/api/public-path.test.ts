/** An address with a path: a proxy takes the path off, and everything that the ramp names is below it. */
import { createServer, request } from "node:http";
import { gzipSync } from "node:zlib";
import { expect, it } from "vitest";
import { listen } from "../../support/port.js";
import { call, newCustomer, north, onramp, ownWorld } from "../support/world.js";

const BASE = "/pay/ramp";
let target = "";
const proxy = createServer((incoming, outgoing) => {
  const path = incoming.url ?? "";
  if (!path.startsWith(BASE)) return void outgoing.writeHead(404).end("outside of the path");
  const forwarded = request(
    new URL(path.slice(BASE.length) || "/", target),
    { method: incoming.method, headers: incoming.headers },
    (response) => response.pipe(outgoing.writeHead(response.statusCode ?? 0, response.headers)),
  );
  incoming.pipe(forwarded);
});
const publicUrl = `http://${await listen(proxy)}${BASE}`;
const world = await ownWorld({ publicUrl });
target = world.url;
const project = await world.project();
const auth = await newCustomer(world, project);

/** Every address in a page, as a browser resolves it. */
const addressesIn = (html: string, at: string): string[] =>
  [...html.matchAll(/\b(?:href|src|action|spec-url)="([^"#][^"]*)"/g)]
    .map(([, address = ""]) => new URL(address.replaceAll("&amp;", "&"), at).href)
    .filter((address) => address.startsWith("http://127.0.0.1"));

it("pages and their scripts and styles are below the path", async () => {
  const { json } = await call(publicUrl, "POST", "/v1/intent", {
    auth,
    body: north({ srcAmount: "900.00" }),
  });
  const page = String(json.onboardingUrl);
  expect(page.startsWith(`${publicUrl}/onboarding/`), page).toBe(true);
  for (const at of [page, `${publicUrl}/docs`, `${publicUrl}/redoc`]) {
    const response = await fetch(at);
    expect([at, response.status]).toEqual([at, 200]);
    const addresses = addressesIn(await response.text(), response.url);
    expect(addresses.length, at).toBeGreaterThan(0);
    for (const address of addresses) {
      expect(address.startsWith(`${publicUrl}/`), `${at}: ${address}`).toBe(true);
      expect([address, (await fetch(address)).status]).toEqual([address, 200]);
    }
  }
  const { servers } = (await call(publicUrl, "GET", "/openapi.json")).json;
  expect(new URL(servers[0].url, `${publicUrl}/openapi.json`).href.replace(/\/$/, "")).toBe(publicUrl);
});

it("the link to the next page of a list is below the path", async () => {
  for (let n = 0; n < 3; n++) await call(publicUrl, "POST", "/v1/intent", { auth, body: onramp() });
  const first = await call(publicUrl, "GET", "/v1/intent?limit=1", { auth });
  const next = /^<([^>]+)>; rel="next"$/.exec(first.headers.get("link") ?? "")?.[1] ?? "";
  expect(next).toMatch(new RegExp(`^${BASE}/v1/intent\\?limit=1&starting_after=`));
  const second = await fetch(new URL(next, publicUrl), { headers: { authorization: auth } });
  expect([second.status, ((await second.json()) as unknown[]).length]).toEqual([200, 1]);
});

it.each(["gzip", "br", "deflate", "zstd", "x-unknown"])(
  "a body that is compressed as %s is a 415",
  async (encoding) => {
    const response = await fetch(`${world.url}/v1/customers`, {
      method: "POST",
      headers: {
        authorization: project.basic,
        "content-type": "application/json",
        "content-encoding": encoding,
      },
      body: gzipSync('{"id":"compressed"}'),
    });
    expect([response.status, await response.json()]).toEqual([
      415,
      { error: "UNSUPPORTED_MEDIA_TYPE", message: expect.stringContaining("Content-Encoding") },
    ]);
    const plain = await fetch(`${world.url}/v1/customers`, {
      method: "POST",
      headers: {
        authorization: project.basic,
        "content-type": "application/json",
        "content-encoding": "identity",
      },
      body: '{"id":"plain"}',
    });
    expect(plain.status).toBe(201);
  },
);
