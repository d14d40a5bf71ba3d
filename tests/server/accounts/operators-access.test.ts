/** Who may call the paths of operators, and what OpenAPI says of them. */
import { Validator } from "@seriousme/openapi-schema-validator";
import { Ajv } from "ajv";
import { describe, expect, it } from "vitest";
import { operatorRoutes } from "../../../runtime/server/accounts/operators/routes.js";
import type { Operators } from "../../../runtime/server/accounts/operators/operators.js";
import { proxyOf } from "../../support/database-proxy.js";
import { sendRequest } from "../../support/http-client.js";
import { KEYS, startFolder } from "../../support/service.js";
import { type Json, OPERATOR, ownOperated } from "./operated.js";

const { call, database, folder, made, service } = await ownOperated();

const PATHS = [
  ["GET", "/organizations"],
  ["POST", "/organizations"],
  ["GET", "/organizations/x"],
  ["PATCH", "/organizations/x"],
  ["GET", "/keys"],
  ["POST", "/keys"],
  ["POST", "/keys/000000000000/rotate"],
  ["DELETE", "/keys/000000000000"],
  ["GET", "/plans"],
  ["GET", "/audit"],
] as const;

describe.each(PATHS)("%s %s", (method, path) => {
  it.each([
    ["tier3 without a list", KEYS.tier3, 403, /^Access denied. This key may not call \/v1\/system\//],
    ["tier3 with another list", "sk_live_shop", 403, /^Access denied. This key may not call/],
    ["tier2 with the list", KEYS.tier2, 403, /requires tier3 access/],
    ["no key", undefined, 403, /^Missing authentication header/],
  ])("is closed to %s", async (_, key, status, detail) => {
    const reply = await sendRequest(service.url, `/v1/system${path}`, {
      ...{ method, ...(key !== undefined && { key }) },
      ...(method !== "GET" && { body: { user: "x", tier: "tier3", organization: "*" } }),
    });
    expect(reply.status).toBe(status);
    expect((JSON.parse(reply.text) as { detail: string }).detail).toMatch(detail);
  });

  it("is read by pages of no other origin", async () => {
    const headers = { origin: "https://evil.example" };
    const reply = await sendRequest(service.url, `/v1/system${path}`, { method, key: OPERATOR, headers });
    expect(reply.headers["access-control-allow-origin"]).toBeUndefined();
  });
});

describe("the OpenAPI document", () => {
  it("is valid, and describes what these paths answer", async () => {
    const { text } = await sendRequest(service.url, "/openapi.json");
    const document = JSON.parse(text) as Json;
    const { valid, errors } = await new Validator().validate(structuredClone(document));
    expect([errors, valid]).toEqual([undefined, true]);
    const routes = operatorRoutes({ publicUrl: null } as Operators);
    for (const { method, path } of routes)
      expect(document["paths"][path][method.toLowerCase()]).toMatchObject({ "x-tier": "tier3" });
    await made("/organizations", { id: "described" });
    const { id } = await made("/keys", { user: "fay", tier: "tier1", organization: "described" });
    const answers = [
      await call("GET", "/organizations"),
      await call("GET", "/organizations/described"),
      await call("GET", "/keys?organization=described"),
      await call("GET", "/plans"),
      await call("GET", "/audit"),
      await call("POST", `/keys/${String(id)}/rotate`, {}),
    ];
    const operations = ["organizations", "organizations/{id}", "keys", "plans", "audit"].map(
      (path) => document["paths"][`/v1/system/${path}`].get.responses["200"],
    );
    operations.push(document["paths"]["/v1/system/keys/{id}/rotate"].post.responses["201"]);
    const ajv = new Ajv({ strict: false, validateFormats: false, allowUnionTypes: true });
    answers.forEach(({ json }, i) => {
      expect(ajv.validate(operations[i].content["application/json"].schema, json), ajv.errorsText()).toBe(
        true,
      );
    });
  });

  it("has none of them where keys are in a file", async () => {
    const other = await startFolder(folder);
    const { text } = await sendRequest(other.url, "/openapi.json");
    expect(text).not.toContain("/v1/system/organizations");
    const { status } = await sendRequest(other.url, "/v1/system/organizations", { key: KEYS.tier3 });
    expect(status).toBe(404);
  });
});

describe("a database that is away", () => {
  it("is a 503 that says when to try again, and operators go on once it is back", async () => {
    let isAway = false;
    const proxy = await proxyOf(database, (client, open) => {
      if (isAway) return void client.destroy();
      const server = open();
      client.pipe(server).pipe(client);
      client.on("data", () => (isAway ? client.destroy() : client));
    });
    const away = await startFolder(folder, {
      KEYS_DATABASE_URL: proxy.url,
      API_KEYS: JSON.stringify({ [OPERATOR]: { tier: "tier3", allowed: ["system"] } }),
    });
    const plans = () => sendRequest(away.url, "/v1/system/audit", { key: OPERATOR });
    expect((await plans()).status).toBe(200);
    isAway = true;
    const { status, headers, text } = await plans();
    expect([status, headers["retry-after"], text]).toEqual([
      503,
      "5",
      '{"detail":"The keys cannot be read. Try again in 5 seconds."}',
    ]);
    isAway = false;
    expect((await plans()).status).toBe(200);
  });
});
