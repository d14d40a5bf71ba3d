import { Validator } from "@seriousme/openapi-schema-validator";
import pg from "pg";
import { describe, expect, it } from "vitest";
import { RAMP_ERRORS } from "../../../runtime/ramp/core/ramp-errors.js";
import { errorsOf } from "../../../runtime/ramp/api/openapi.js";
import { ROUTES } from "../../../runtime/ramp/api/all-routes.js";
import { callbackHeaders } from "../../../runtime/ramp/providers/signature.js";
import { SANDBOX_PROVIDERS } from "../../../runtime/ramp/sandbox/sandbox-server.js";
import { setClockBack } from "../../support/clock.js";
import { SERVER } from "../support/server.js";
import { expectRefused, newCustomer, onramp, ownWorld, type Reply } from "../support/world.js";

const world = await ownWorld();
const [project, other] = [await world.project(), await world.project()];
const [mine, neighbour, stranger] = [
  await newCustomer(world, project),
  await newCustomer(world, project),
  await newCustomer(world, other),
];

interface ErrorResponse {
  readonly content: {
    readonly "application/json": {
      readonly schema: { readonly allOf: [unknown, { readonly properties: { error: { enum: unknown[] } } }] };
    };
  };
}

describe("credentials", () => {
  const wrong: readonly (readonly [string, string | undefined])[] = [
    ["none", undefined],
    ["an empty header", ""],
    ["another scheme", "Digest x"],
    ["no base64", "Basic ???"],
    ["no colon", `Basic ${Buffer.from("nothing").toString("base64")}`],
    ["an unknown client", `Basic ${Buffer.from("ramp_x:y").toString("base64")}`],
    ["a wrong secret", `Basic ${Buffer.from(`${project.clientId}:x`).toString("base64")}`],
    [
      "another project's secret",
      `Basic ${Buffer.from(`${project.clientId}:${other.clientSecret}`).toString("base64")}`,
    ],
    ["no token", "Bearer"],
    ["a token that is none", "Bearer x"],
    ["a token with three parts of nothing", "Bearer a.b.c"],
  ];
  const ofOne = ROUTES.filter(({ access }) => access === "project" || access === "customer");
  const closed = [...ofOne, ...ROUTES.filter(({ access }) => access === "either")];

  it.each(wrong)("that are %s are refused by every endpoint", async (_, auth) => {
    for (const { method, path, access } of closed) {
      const reply = await world.call(method, path.replace("{id}", crypto.randomUUID()), {
        ...(auth === undefined ? {} : { auth }),
        ...(method === "POST" ? { body: {} } : {}),
      });
      const isOfProject = access === "project" || (access === "either" && !auth?.startsWith("Bearer"));
      expect([path, reply.status, reply.json.error]).toEqual([
        path,
        401,
        isOfProject ? "INVALID_CREDENTIALS" : "INVALID_TOKEN",
      ]);
      expect(reply.headers.get("www-authenticate")).toMatch(isOfProject ? /^Basic/ : /^Bearer/);
    }
  });

  it("of a customer do not open the project's endpoints, nor the other way round", async () => {
    for (const { method, path, access } of ofOne) {
      const auth = access === "project" ? mine : project.basic;
      const reply = await world.call(method, path.replace("{id}", crypto.randomUUID()), {
        auth,
        ...(method === "POST" ? { body: {} } : {}),
      });
      expect([path, reply.status]).toEqual([path, 401]);
    }
  });

  it("of another customer or project find nothing: an intent of others does not exist", async () => {
    const { json } = await world.call("POST", "/v1/intent", { auth: mine, body: onramp() });
    for (const auth of [neighbour, stranger]) {
      const path = `/v1/intent/${json.intent.id}`;
      const replies = [
        await world.call("GET", path, { auth }),
        await world.call("GET", `${path}/transaction`, { auth }),
        await world.call("POST", `${path}/transaction`, { auth }),
        await world.call("POST", `${path}/transaction`, { auth, key: "foreign" }),
      ];
      expectRefused(replies, 404, "NOT_FOUND");
      expect((await world.call("GET", "/v1/intent", { auth })).json).toEqual([]);
      const start = await world.call("GET", `/v1/intent?starting_after=${json.intent.id}`, { auth });
      expect(start.status).toBe(400);
    }
    const customers = await world.call("GET", "/v1/customers", { auth: other.basic });
    expect(customers.json).toHaveLength(1);
  });
});

it("customers are made once and found again, in any script", async () => {
  const id = "Ünïcode 客户 🙂";
  const first = await world.call("POST", "/v1/customers", {
    auth: project.basic,
    body: { id, metadata: { plan: "gold" } },
  });
  const second = await world.call("POST", "/v1/customers", { auth: project.basic, body: { id } });
  expect(first.status).toBe(201);
  const { accessToken: one, ...customer } = first.json;
  const { accessToken: two, ...again } = second.json;
  expect(again).toEqual(customer);
  expect(customer).toMatchObject({
    externalId: id,
    metadata: { plan: "gold" },
    projectId: project.projectId,
  });
  expect(two).not.toBe(one);
  for (const token of [one, two])
    expect((await world.call("GET", "/v1/intent", { auth: `Bearer ${String(token)}` })).status).toBe(200);
});

describe("the service", () => {
  it("serves its status, its health and its documentation", async () => {
    expect((await world.call("GET", "/")).json).toEqual({
      status: "online",
      service: "Routewright Ramp API",
      docs: "/docs",
      guide: "/guide",
    });
    expect((await world.call("GET", "/health")).json).toEqual({ status: "ok", database_connected: true });
    for (const path of ["/docs", "/redoc"])
      expect((await world.call("GET", path)).headers.get("content-type")).toMatch(/^text\/html/);
    const metrics = await world.call("GET", "/metrics");
    expect(metrics.text).toContain('routewright_ramp_requests_total{path="/v1/intent"');
    expect(
      (await world.call("GET", "/metrics", { headers: { "x-forwarded-for": "1.1.1.1" } })).json.error,
    ).toBe("METRICS_FORBIDDEN");
  });

  it("describes itself in valid OpenAPI 3.1 that names every endpoint and every refusal", async () => {
    const { json } = await world.call("GET", "/openapi.json");
    expect(await new Validator().validate(structuredClone(json) as Record<string, unknown>)).toEqual({
      valid: true,
    });
    const operations = Object.entries(json.paths as Record<string, object>).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method} ${path}`),
    );
    expect(operations.sort()).toEqual(
      ROUTES.map(({ method, path }) => `${method.toLowerCase()} ${path}`).sort(),
    );
    for (const methods of Object.values(json.paths as Record<string, object>))
      for (const operation of Object.values(methods) as { tags: string[]; summary: string }[]) {
        expect(operation.tags).not.toEqual([""]);
        expect(operation.summary).not.toBe("");
      }
    const used = new Set(ROUTES.flatMap((route) => errorsOf(route)));
    const elsewhere = ["METRICS_FORBIDDEN", "METHOD_NOT_ALLOWED", "NOT_FOUND"];
    expect([...new Set([...used, ...elsewhere])].sort()).toEqual(Object.keys(RAMP_ERRORS).sort());
  });

  it("documents every error that bad parameters and bodies cause at any endpoint", async () => {
    const access = {
      project: project.basic,
      customer: mine,
      either: mine,
      provider: undefined,
      public: undefined,
    };
    const { json: document } = await world.call("GET", "/openapi.json");
    const paths = document.paths as Record<
      string,
      Record<string, { responses: Record<string, ErrorResponse> }>
    >;
    const isDocumented = (path: string, method: string, { status, json }: Reply): boolean => {
      const response = paths[path]?.[method.toLowerCase()]?.responses[String(status)];
      return (
        response?.content["application/json"].schema.allOf[1].properties.error.enum.includes(json.error) ??
        false
      );
    };
    for (const { access: kind, method, path } of ROUTES) {
      const auth = access[kind];
      const target = path.replace(/\{\w+\}/g, project.projectId);
      const given = { ...(auth === undefined ? {} : { auth }) };
      const twice = await world.call(method, `${target}?limit=1&limit=2`, given);
      // Providers may add parameters of their own to a callback's address.
      const error = kind === "provider" ? "INVALID_SIGNATURE" : "INVALID_REQUEST";
      expect([path, twice.json.error]).toEqual([path, error]);
      expect(isDocumented(path, method, twice), `${method} ${path}`).toBe(true);
      if (method !== "POST") continue;
      const large = await world.call(method, target, { ...given, body: { x: "x".repeat(1_100_000) } });
      expect([path, large.json.error]).toEqual([path, "BODY_TOO_LARGE"]);
      expect(isDocumented(path, method, large), `${method} ${path}`).toBe(true);
    }
  });

  it("knows no other paths and methods", async () => {
    expect((await world.call("GET", "/v1/nothing")).json.error).toBe("NOT_FOUND");
    const wrong = await world.call("PUT", "/v1/intent", { auth: mine });
    expect([wrong.status, wrong.json.error, wrong.headers.get("allow")]).toEqual([
      405,
      "METHOD_NOT_ALLOWED",
      "POST, GET, HEAD, OPTIONS",
    ]);
    const head = await world.call("HEAD", "/v1/intent", { auth: mine });
    expect([head.status, head.text]).toEqual([200, ""]);
  });

  it("asks for another try where the database rolled a request back for another's sake", async () => {
    const created = await world.call("POST", "/v1/intent", { auth: mine, body: onramp() });
    const { id } = (created.json as { intent: { id: string } }).intent;
    const path = `/v1/intent/${id}/cancel`;
    const client = new pg.Client(world.databaseUrl);
    await client.connect();
    await client.query("BEGIN");
    await client.query("SELECT FROM ramp.intents WHERE id = $1 FOR UPDATE", [id]);
    const cancelled = world.call("POST", path, { auth: mine });
    // The request has locked the customer, and this session the intent. Within the second after which the request looks for a
    // circle: the server waits for it itself, and this session looks for none.
    await client.query(`SET LOCAL deadlock_timeout = '1 min';
      DO $$ BEGIN
        WHILE NOT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock') LOOP
          PERFORM pg_sleep(0.02), pg_stat_clear_snapshot();
        END LOOP;
        UPDATE ramp.customers SET metadata = metadata WHERE id = (SELECT customer_id FROM ramp.intents WHERE id = '${id}');
      END $$`);
    await client.query("ROLLBACK");
    await client.end();
    const { status, json, headers } = await cancelled;
    expect([status, json.error, headers.get("retry-after")]).toEqual([503, "SERVICE_UNAVAILABLE", "1"]);
    expect((await world.call("POST", path, { auth: mine })).status).toBe(202);
  });

  it("never reveals a cause, a stack or a secret", async () => {
    const { json } = await world.call("GET", "/openapi.json");
    expect(JSON.stringify(json)).not.toContain(project.clientSecret);
  });
});

describe("limits", () => {
  it("are counted by customer, project and address apart, with Retry-After: no one uses up another's", async () => {
    const small = await ownWorld({
      limits: { ...SERVER.limits, perProject: 8, failedLoginsPerAddress: 3, perAddress: 4, perCustomer: 3 },
    });
    const [shop, free] = [await small.project(), await small.project()];
    const [busy, calm] = [await newCustomer(small, shop, "busy"), await newCustomer(small, shop, "calm")];
    // A window ends by this clock.
    setClockBack(0);
    const statuses = async (count: number, path: string, auth: string): Promise<number[]> => {
      const found: number[] = [];
      for (let i = 0; i < count; i++) found.push((await small.call("GET", path, { auth })).status);
      return found;
    };
    expect(await statuses(4, "/v1/intent", busy)).toEqual([200, 200, 200, 429]);
    expect(await statuses(4, "/v1/intent", "Bearer a.b.c")).toEqual([401, 401, 401, 429]);
    expect(await statuses(1, "/v1/customers", "Basic eDp5")).toEqual([429]);
    expect(await statuses(1, "/v1/intent", calm)).toEqual([200]);
    // Two customers were created.
    expect(await statuses(7, "/v1/customers", shop.basic)).toEqual([200, 200, 200, 200, 200, 200, 429]);
    const over = await small.call("GET", "/v1/customers", { auth: shop.basic });
    expect([over.status, over.json.error]).toEqual([429, "RATE_LIMITED"]);
    expect(Number(over.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(await statuses(1, "/v1/customers", free.basic)).toEqual([200]);
    expect(await statuses(5, "/v1/auth/wallet/nonce", "")).toEqual([200, 200, 200, 200, 429]);
  });

  it("do not hold signed callbacks of a provider, only forged ones", async () => {
    const small = await ownWorld({
      limits: {
        ...SERVER.limits,
        perProject: 100,
        failedLoginsPerAddress: 3,
        perAddress: 2,
        perCustomer: 100,
      },
    });
    const shop = await small.project();
    const { json: providers } = await small.call("GET", "/v1/providers", { auth: shop.basic });
    const { code, id } = providers[0] as { code: string; id: string };
    const { secret = "" } = SANDBOX_PROVIDERS.find((provider) => provider.code === code) ?? {};
    const text = JSON.stringify({ type: "execution.updated", onboardingId: id });
    const callBack = async (key: string): Promise<number> => {
      const headers = { ...callbackHeaders(key, "id", new Date(), text), "content-type": "application/json" };
      const path = `/v1/provider-callbacks/${shop.projectId}/${id}`;
      return (await small.call("POST", path, { text, headers })).status;
    };
    // A window ends by this clock.
    setClockBack(0);
    const statuses: number[] = [];
    for (let i = 0; i < 5; i++) statuses.push(await callBack(secret));
    expect(statuses).toEqual([200, 200, 200, 200, 200]);
    for (let i = 0; i < 4; i++) statuses.push(await callBack("guessed"));
    expect(statuses.slice(5)).toEqual([401, 401, 401, 429]);
    expect(await callBack(secret)).toBe(200);
  });
});
