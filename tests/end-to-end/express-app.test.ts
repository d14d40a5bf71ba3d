import express, { type Express, type IRouter, type NextFunction, type Request, type Response } from "express";
import { createServer } from "node:http";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { listen } from "../support/port.js";
import { evaluateModule } from "../../runtime/server/release/generated-folder.js";
import { readGeneratedRelease } from "../../runtime/server/release/release.js";
import { openGateway, readKeyring, withGateway } from "../../runtime/index.js";
import { sendRequest, type RequestOptions, type Reply } from "../support/http-client.js";
import { databaseUrl } from "../support/database.js";
import { KEYS, serveManifest } from "../support/service.js";
import { starterManifest } from "./starter.js";

const generated = join(import.meta.dirname, "../../generated");
const { modules } = (await readGeneratedRelease({ generated })).release;
const endpoints = modules.map(evaluateModule);

const keyring = readKeyring(
  Object.fromEntries(
    Object.entries(KEYS).map(([tier, key]) => [key, { tier, user: `user-${tier}`, org: "test" }]),
  ),
  "test",
);
if (!keyring.ok) throw new Error(keyring.problems.join());
const { default: pino } = await import("pino");
const gateway = openGateway({ databaseUrl, keys: keyring.value, log: pino({ level: "silent" }) });
afterAll(() => gateway.close());

const server = await serveManifest(starterManifest());

/** Mounts every generated handler as its documentation says. */
function mounted(target: IRouter): void {
  target.use(withGateway(gateway));
  for (const { spec, get, post } of endpoints)
    target.all(spec.path, (request: Request, response: Response, next) =>
      (request.method === "POST" ? post : get)(request as never, response as never, next),
    );
}

async function serveApp(build: (app: Express) => void): Promise<string> {
  const app = express();
  app.disable("x-powered-by");
  app.disable("etag");
  build(app);
  return `http://${await listen(createServer(app))}`;
}

const json = { "content-type": "application/json" };
const QUESTIONS: readonly (readonly [what: string, target: string, question: RequestOptions])[] = [
  ["rows of a legacy endpoint", "/v1/bridges/volume/last_7d", {}],
  ["a refused parameter", "/v1/bridges/volume/last_7d?x=1", {}],
  [
    "filtered rows",
    "/v1/altchain/altchain_card_activity_by_action/daily?action=Payment&start_date=2026-01-01",
    { key: KEYS.tier3 },
  ],
  [
    "a wrong date",
    "/v1/altchain/altchain_card_activity_by_action/daily?start_date=2026-02-30",
    { key: KEYS.tier3 },
  ],
  ["a missing key", "/v1/bridges/transactions", {}],
  ["a wrong key", "/v1/bridges/volume/last_7d", { key: "sk_live_none" }],
  ["a key of too low a tier", "/v1/altchain/altchain_card_active_users/last_7d", { key: KEYS.tier1 }],
  ["HEAD", "/v1/bridges/volume/last_7d", { method: "HEAD" }],
  ["a method it does not have", "/v1/bridges/volume/last_7d", { method: "DELETE" }],
  ["POST where there is none", "/v1/bridges/volume/last_7d", { method: "POST" }],
  [
    "a preflight",
    "/v1/bridges/transactions",
    { method: "OPTIONS", headers: { "access-control-request-method": "POST" } },
  ],
  [
    "a posted filter with a page and a sort",
    "/v1/bridges/transactions",
    {
      method: "POST",
      key: KEYS.tier1,
      headers: json,
      body: { token: "usdc", limit: 2, sort_by: "amount_usd", sort_direction: "desc" },
    },
  ],
  [
    "a posted body without a filter",
    "/v1/bridges/transactions",
    { method: "POST", key: KEYS.tier1, headers: json, body: {} },
  ],
  ["no body", "/v1/bridges/transactions", { method: "POST", key: KEYS.tier1, headers: json }],
  [
    "a body that is no object",
    "/v1/bridges/transactions",
    { method: "POST", key: KEYS.tier1, headers: json, body: [] },
  ],
  [
    "a query string on POST",
    "/v1/bridges/transactions?limit=1",
    { method: "POST", key: KEYS.tier1, headers: json, body: { token: "usdc" } },
  ],
];

/** What must be the same; the rate limit's window, ids, dates and times differ each time. */
function comparable({ status, headers, text }: Reply, prefix = ""): unknown {
  const names = [
    "date",
    "x-request-id",
    "x-ratelimit-remaining",
    "x-ratelimit-reset",
    "ratelimit",
    "server-timing",
  ];
  // The server alone knows the results of dbt's tests.
  const shown = Object.entries(headers).filter(([name]) => name !== "x-data-quality");
  const steady = shown.map(([name, value]) => [
    name,
    // The address of the next page is where the handler is mounted.
    names.includes(name) ? "any" : name === "link" ? String(value).replace(`<${prefix}/`, "</") : value,
  ]);
  return { status, text, headers: Object.fromEntries(steady) };
}

describe.each([
  ["a plain Express app", "", (app: Express) => mounted(app)],
  ["an Express app that parses bodies itself", "", (app: Express) => mounted(app.use(express.json()))],
  [
    "a router under a prefix",
    "/data",
    (app: Express) => {
      const router = express.Router();
      mounted(router);
      app.use("/data", router);
    },
  ],
] as const)("generated handlers in %s", async (_, prefix, build) => {
  const app = await serveApp(build);

  it.each(QUESTIONS)("answer as the server does: %s", async (_what, target, question) => {
    const here = await sendRequest(app, prefix + target, question);
    const there = await sendRequest(server, target, question);
    expect(comparable(here, prefix)).toEqual(comparable(there));
  });
});

describe("a generated handler in an Express app", () => {
  it("answers GET, HEAD and nothing else where `app.get` mounts it alone", async () => {
    const endpoint = endpoints.find(({ spec }) => spec.path === "/v1/bridges/volume/last_7d")!;
    const app = await serveApp((each) =>
      each.use(withGateway(gateway)).get("/volume", endpoint.get as never),
    );
    expect((await sendRequest(app, "/volume")).status).toBe(200);
    expect((await sendRequest(app, "/volume", { method: "HEAD" })).status).toBe(200);
    expect((await sendRequest(app, "/volume", { method: "POST" })).status).toBe(404);
  });

  it("refuses a number whose digits the app's own parser has rounded, where the server keeps them", async () => {
    const app = await serveApp((each) => mounted(each.use(express.json())));
    const send = async (base: string, number: string) => {
      const headers = { ...json, "x-api-key": KEYS.tier1 };
      const init = { method: "POST", headers, body: `{"token": ${number}}` };
      const response = await fetch(`${base}/v1/bridges/transactions`, init);
      return [response.status, await response.text()];
    };
    for (const number of ["12345678901234567890", "0.12345678901234567"]) {
      expect(await send(app, number)).toEqual([
        400,
        `{"detail":"Parameter 'token' must be a string where a number has more than 15 digits."}`,
      ]);
      expect(await send(server, number)).toEqual([200, expect.any(String)]);
    }
    for (const number of ["123456789012345", "1e300", "0.5"]) expect((await send(app, number))[0]).toBe(200);
  });

  it.each([
    ["{ schema: 1 }", "{ schema: 3 }", "schema 3", "run `npm install @routewright/runtime@latest`"],
    ["{ schema: 1 }", "{ schema: 0 }", "schema 0", "run `npx routewright generate`"],
    ["{ schema: 1 }", "", "no schema version", "run `npx routewright generate`"],
  ])(
    "is refused when it is imported with a runtime of another version: %s → %s",
    (own, other, found, remedy) => {
      const { script, ...module } = modules.find(({ file }) => file === "bridges/volume.last_7d.ts")!;
      expect(script).toContain(own);
      expect(() => evaluateModule({ ...module, script: script.replace(own, other) })).toThrow(
        `The generated handlers of /v1/bridges/volume/last_7d have ${found}, this @routewright/runtime reads 1 and 2: ${remedy}.`,
      );
    },
  );

  it("says what is missing without a gateway", async () => {
    const app = await serveApp((each) => {
      each.get("/volume", endpoints[0]!.get as never);
      each.use((error: Error, _request: Request, response: Response, next: NextFunction) => {
        if (response.headersSent) next(error);
        else response.status(500).send(error.message);
      });
    });
    expect((await sendRequest(app, "/volume")).text).toBe(
      "No gateway for this request: put `app.use(withGateway(gateway))` before the generated handlers.",
    );
  });

  it("leaves a body that Express cannot parse to Express", async () => {
    const app = await serveApp((each) => {
      mounted(each.use(express.json()));
      each.use(
        (error: Error & { status: number }, _request: Request, response: Response, next: NextFunction) => {
          if (response.headersSent) next(error);
          else response.status(error.status).send(error.name);
        },
      );
    });
    const reply = await sendRequest(app, "/v1/bridges/transactions", {
      method: "POST",
      key: KEYS.tier1,
      headers: json,
      body: "{",
    });
    expect([reply.status, reply.text]).toEqual([400, "SyntaxError"]);
  });
});
