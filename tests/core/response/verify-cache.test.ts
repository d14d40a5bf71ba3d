/** `routewright verify --cache` against real caches: with the configurations of the page, and with faults in them. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { sendRequest } from "../../support/http-client.js";
import { needs } from "../../support/needs.js";
import { KEYS, ownInstallation } from "../../support/service.js";
import { routewright } from "../../commands/run.js";
import { type Edge, startNginx, startVarnish } from "./edges.js";
import { publicRows } from "./public-rows.js";

const { manifest, serve } = await publicRows();
const variables = { TRUST_PROXY: "127.0.0.1", RATE_LIMITS: "100000" };

interface Report {
  readonly summary: { readonly error: number };
  readonly differences: readonly { readonly check: string; readonly message: string }[];
}

/** What the command finds; `settings`: of the config file. */
async function verify({ url, cache }: Edge, settings: object = {}) {
  const folder = ownInstallation(manifest);
  const { purgeUrl, purgeMethod, token } = cache;
  writeFileSync(
    join(folder, "routewright.config.json"),
    JSON.stringify({ purgeUrl, purgeMethod, ...settings }),
  );
  const environment = { PURGE_TOKEN: token ?? "", VERIFY_API_KEY: KEYS.tier1 };
  const { exit, out, err } = await routewright(
    folder,
    ["verify", "--cache", url, "--format", "json"],
    environment,
  );
  if (exit === 2) throw new Error(err);
  const report = JSON.parse(out) as Report;
  return { exit, found: [...new Set(report.differences.map(({ check }) => check))], report };
}

const CACHES = [
  ["nginx", ["nginx", "ngx_http_cache_purge_module.so"], startNginx],
  ["Varnish", ["varnishd"], startVarnish],
] as const;

for (const [name, programs, start] of CACHES) {
  if (!needs(...programs)) continue;
  describe(`${name} with the configuration of the page`, () => {
    it("passes, and nothing of what was tried stays", async () => {
      const service = await serve(undefined, variables);
      const edge = await start(service.url);
      const { exit, found, report } = await verify(edge);
      expect([exit, found, report.summary.error]).toEqual([0, [], 0]);
      expect(JSON.stringify(report)).not.toContain(KEYS.tier1);
      const { headers, text } = await sendRequest(edge.url, "/v1/shop/rates");
      expect([headers["content-type"], text]).toEqual([
        "application/json; charset=utf-8",
        expect.stringMatching(/^\[\{"n":1,/),
      ]);
    });
  });
}

const withoutFormats = (text: string) => text.replace('default "other"', 'default ""');
const withoutPrefer = (text: string) => text.replace("$http_prefer$other_format", "$other_format");
const withPrefix = (text: string) =>
  text.replace('X-Forwarded-Prefix ""', "X-Forwarded-Prefix $http_x_forwarded_prefix");
const keepsKeys = (text: string) =>
  text
    .replace("$http_x_api_key$http_authorization", "")
    .replace(
      "proxy_ignore_headers Vary;",
      "proxy_ignore_headers Vary Cache-Control; proxy_cache_valid any 1h;",
    );

describe.skipIf(!needs("nginx", "ngx_http_cache_purge_module.so"))("nginx", () => {
  it.each([
    ["keeps formats by Accept under one address", withoutFormats, ["poisoned-copy"]],
    ["keeps what Prefer asks for", withoutPrefer, ["poisoned-copy"]],
    ["passes a caller's prefix on", withPrefix, ["poisoned-copy"]],
    ["keeps responses to keys", keepsKeys, ["poisoned-copy", "private-copy"]],
  ])("that %s is found", async (_, change, expected) => {
    const service = await serve(undefined, variables);
    const { exit, found, report } = await verify(await startNginx(service.url, change));
    expect([exit, found.toSorted()]).toEqual([1, expected]);
    expect(JSON.stringify(report)).not.toContain(KEYS.tier1);
  });

  it("is not tried at the path of callers where nothing can be removed", async () => {
    const service = await serve(undefined, variables);
    const edge = await startNginx(service.url, withoutFormats);
    const { exit, found, report } = await verify(edge, { purgeUrl: undefined });
    expect([exit, found]).toEqual([0, []]);
    expect(report).toMatchObject({ failed: false });
  });
});

const keepsAll = (text: string) =>
  text
    .replace("{ return (pass); }", "{ return (hash); }")
    .replace(
      /if \(bereq.uncacheable[^}]*\}/,
      "unset beresp.http.Vary; set beresp.ttl = 1h; return (deliver);",
    );
const takesPrefix = (text: string) => text.replace("unset req.http.X-Forwarded-Prefix;", "");

describe.skipIf(!needs("varnishd"))("Varnish", () => {
  it.each([
    ["that keeps every response fails", keepsAll, ["poisoned-copy", "private-copy"]],
    ["that takes a caller's prefix passes: it keeps a copy for each", takesPrefix, []],
  ])("%s", async (_, change, expected) => {
    const service = await serve(undefined, variables);
    const { found } = await verify(await startVarnish(service.url, change));
    expect(found.toSorted()).toEqual(expected);
  });
});

it("names what is wrong with the address", async () => {
  const service = await serve(undefined, variables);
  const folder = ownInstallation(manifest);
  for (const [address, problem] of [
    ["data.example.com", "takes the address of the cache"],
    ["http://127.0.0.1:1", "ECONNREFUSED"],
    [`${service.url}/elsewhere`, "answers 404"],
  ] as const) {
    const { exit, err } = await routewright(folder, ["verify", "--cache", address]);
    expect([exit, err]).toEqual([2, expect.stringContaining(problem)]);
  }
});
