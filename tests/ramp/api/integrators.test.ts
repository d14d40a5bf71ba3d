import { randomUUID } from "node:crypto";
import { ROUTES } from "../../../runtime/ramp/api/all-routes.js";
import { PROTOTYPE_NAMES } from "../../support/prototype-names.js";
import { describe, expect, it } from "vitest";
import { updateProject } from "../../../runtime/ramp/operator/projects.js";
import { newestFirst } from "../support/lists.js";
import { eventually, made, newCustomer, north, onramp, ownWorld, type Reply } from "../support/world.js";

const world = await ownWorld();
const project = await world.project();
const get = (path: string, auth = project.basic): Promise<Reply> => world.call("GET", path, { auth });
const create = async (auth: string, more: Readonly<Record<string, unknown>> = {}): Promise<string> => {
  const reply = await world.call("POST", "/v1/intent", { auth, body: onramp(more) });
  expect(reply.status, reply.text).toBe(201);
  return String(reply.json.intent.id);
};
const ids = ({ json }: Reply): string[] =>
  (json as { intent: { id: string } }[]).map(({ intent }) => intent.id);
/** Ids of a list as they must be. */
const sorted = ({ json }: Reply) =>
  newestFirst((json as { intent: { id: string; createdAt: string } }[]).map(({ intent }) => intent));

describe("a project", () => {
  it("reads all its customers' intents, filtered and page by page, and no other project's", async () => {
    const own = await world.project();
    const [one, two] = [await newCustomer(world, own, "one"), await newCustomer(world, own, "two")];
    const [ofOne, ofTwo, later] = [await create(one), await create(two), await create(one)];
    await create(await newCustomer(world, project));
    const all = await get("/v1/intents", own.basic);
    const created = sorted(all);
    expect(new Set(created)).toEqual(new Set([ofOne, ofTwo, later]));
    expect(ids(all)).toEqual(created);
    const listed = all.json as { customerId: string; intent: { id: string } }[];
    const { customerId } = listed.find(({ intent }) => intent.id === ofOne) ?? { customerId: "" };
    const filtered = await get(`/v1/intents?customerId=${customerId}`, own.basic);
    expect(ids(filtered)).toEqual(created.filter((id) => id !== ofTwo));
    expect(ids(await get("/v1/intents?status=COMPLETED", own.basic))).toEqual([]);
    expect(ids(await get("/v1/intents?status=PENDING_PAYMENT", own.basic))).toEqual(created);
    const first = await get("/v1/intents?status=PENDING_PAYMENT&limit=2", own.basic);
    const next = /<([^>]+)>; rel="next"/.exec(first.headers.get("link") ?? "")?.[1] ?? "";
    expect(next).toContain("status=PENDING_PAYMENT");
    expect([...ids(first), ...ids(await get(next, own.basic))]).toEqual(created);
  });

  it("polls for what changed since: the status, or the transaction", async () => {
    const own = await world.project();
    const auth = await newCustomer(world, own);
    const [quiet, moved] = [await create(auth), await create(auth)];
    const before = await get(`/v1/intents/${moved}`, own.basic);
    // The service's own time: this process's clock may be set back meanwhile.
    const since = String(before.json.intent.updatedAt);
    await world.call("POST", `/v1/intent/${moved}/transaction`, { auth, body: {} });
    const changed = await get(`/v1/intents?updatedSince=${since}`, own.basic);
    expect(ids(changed), `since ${since}: ${changed.text}`).toEqual([moved]);
    expect(changed.json[0].intent.updatedAt > since).toBe(true);
    expect(ids(await get("/v1/intents?updatedSince=2020-01-01T00:00:00Z", own.basic))).toContain(quiet);
  });

  it("lists intents of a time of creation, oldest first where it asks so", async () => {
    const own = await world.project();
    const auth = await newCustomer(world, own);
    const made = [await create(auth), await create(auth), await create(auth)];
    const created = sorted(await get("/v1/intents", own.basic)).toReversed();
    expect(new Set(created)).toEqual(new Set(made));
    const times = (await get("/v1/intents?order=asc", own.basic)).json.map(
      ({ intent }: { intent: { createdAt: string } }) => intent.createdAt,
    ) as string[];
    const [, since = "", until = ""] = times;
    expect(ids(await get("/v1/intents?order=asc", own.basic))).toEqual(created);
    const between = `createdSince=${since}&createdUntil=${until}`;
    expect(ids(await get(`/v1/intents?${between}`, own.basic))).toEqual([created[1]]);
    const pages = await get("/v1/intents?order=asc&limit=2", own.basic);
    const next = /<([^>]+)>; rel="next"/.exec(pages.headers.get("link") ?? "")?.[1] ?? "";
    expect([...ids(pages), ...ids(await get(next, own.basic))]).toEqual(created);
    const changes = await get(`/v1/intents?order=asc&updatedSince=${since}`, own.basic);
    expect([changes.status, changes.json.details[0].path]).toEqual([400, "/order"]);
  });

  it("reads one intent with its customer; another project's does not exist", async () => {
    const id = await create(await newCustomer(world, project));
    expect((await get(`/v1/intents/${id}`)).json).toMatchObject({
      customerId: expect.any(String),
      intent: { id },
      onboardingUrl: null,
    });
    const other = await world.project();
    for (const path of [`/v1/intents/${id}`, "/v1/intents/x"])
      expect((await get(path, other.basic)).json.error).toBe("NOT_FOUND");
    const customer = await newCustomer(world, project);
    expect((await get("/v1/intents", customer)).json.error).toBe("INVALID_CREDENTIALS");
  });

  it.each(["status=DONE", "updatedSince=yesterday", "limit=0", "starting_after=x", "since=1"])(
    "gets an error that names ?%s",
    async (query) => {
      expect((await get(`/v1/intents?${query}`)).json.error).toBe("INVALID_REQUEST");
    },
  );
});

describe("numbers of a body", () => {
  const METADATA = '{"n":12345678901234567891,"deep":[{"metadata":-9007199254740993.10}],"text":"a\\"1e400"}';
  const withMetadata = (body: object, text = METADATA): string =>
    JSON.stringify({ ...body, metadata: {} }).replace('"metadata":{}', `"metadata": ${text} `);
  /** As the database writes it. */
  const stored = /"n": ?12345678901234567891\b.*-9007199254740993\.10\b/;

  it("are kept in metadata to the last digit: in the answer, look-up, list and event", async () => {
    const own = await world.project();
    const auth = await newCustomer(world, own);
    const created = await world.call("POST", "/v1/intent", { auth, text: withMetadata(onramp()) });
    expect(created.status, created.text).toBe(201);
    const path = `/v1/intent/${String(created.json.intent.id)}`;
    const customer = { auth: own.basic, text: withMetadata({ id: "exact" }) };
    const texts = [
      created.text,
      (await world.call("GET", path, { auth })).text,
      (await get("/v1/intents", own.basic)).text,
      (await world.call("POST", "/v1/customers", customer)).text,
      (await get("/v1/customers?externalId=exact", own.basic)).text,
    ];
    for (const text of texts) expect(text).toMatch(stored);
    expect(JSON.parse(created.text)).toMatchObject({ intent: { metadata: { text: 'a"1e400' } } });
    const events = await world.rows("SELECT body FROM ramp.events WHERE project_id = $1", [own.id]);
    expect(events.length).toBeGreaterThan(0);
    for (const { body } of events) expect(body).toMatch(stored);
  });

  it.each(["1e400", "-1e400", "1e-400"])("are refused where no number can be so: %s", async (number) => {
    const own = await world.project();
    const auth = await newCustomer(world, own);
    const replies = [
      await world.call("POST", "/v1/intent", { auth, text: withMetadata(onramp(), `{"n":${number}}`) }),
      await world.call("POST", "/v1/customers", {
        auth: own.basic,
        text: withMetadata({ id: "huge" }, `{"n":${number}}`),
      }),
    ];
    expect(replies.map(({ status, json }) => [status, json.error])).toEqual([
      [400, "INVALID_REQUEST"],
      [400, "INVALID_REQUEST"],
    ]);
  });

  it("are refused elsewhere when digits of them would be lost", async () => {
    const auth = await newCustomer(world, project);
    const text = JSON.stringify(onramp({ srcAmount: "100.00" })).replace(
      '"rail"',
      '"memo":12345678901234567891,"rail"',
    );
    const { status, json } = await world.call("POST", "/v1/intent", { auth, text });
    expect([status, json.error]).toEqual([400, "INVALID_REQUEST"]);
    expect(json.details[0].message).toContain("too many digits");
  });
});

describe("metadata of an intent", () => {
  it("is refused when it is too large, as a customer's is", async () => {
    const project = await world.project();
    const auth = await newCustomer(world, project);
    const metadata = { note: "x".repeat(16_384) };
    const replies = [
      await world.call("POST", "/v1/intent", { auth, body: onramp({ metadata }) }),
      await world.call("POST", "/v1/customers", { auth: project.basic, body: { id: "large", metadata } }),
    ];
    for (const { status, json } of replies)
      expect([status, json.details[0].path]).toEqual([400, "/metadata"]);
  });

  it("comes back with it, for the customer and the project", async () => {
    const auth = await newCustomer(world, project);
    const metadata = { order: "A-17", items: [1, { x: null }] };
    const id = await create(auth, { metadata });
    expect((await get(`/v1/intent/${id}`, auth)).json.intent.metadata).toEqual(metadata);
    expect((await get(`/v1/intents/${id}`)).json.intent.metadata).toEqual(metadata);
    const without = await create(auth);
    expect((await get(`/v1/intent/${without}`, auth)).json.intent).not.toHaveProperty("metadata");
  });
});

describe("names that every object has", () => {
  const each = (value: string) => PROTOTYPE_NAMES.map((name) => `${JSON.stringify(name)}:${value}`).join(",");
  const text = (body: object, member: string): string => JSON.stringify(body).replace(/^\{/, `{${member},`);

  it("are keys of metadata as others are: in the answer, look-ups, lists and events", async () => {
    const own = await world.project();
    const auth = await newCustomer(world, own);
    const member = `"metadata":{${each(`{${each('"kept"')}}`)}}`;
    const created = await world.call("POST", "/v1/intent", { auth, text: text(onramp(), member) });
    expect(created.status, created.text).toBe(201);
    const customer = { auth: own.basic, text: text({ id: "__proto__" }, member) };
    const path = `/v1/intent/${String(created.json.intent.id)}`;
    const texts = [
      created.text,
      (await world.call("GET", path, { auth })).text,
      (await get("/v1/intents", own.basic)).text,
      (await world.call("POST", "/v1/customers", customer)).text,
      (await get("/v1/customers?externalId=__proto__", own.basic)).text,
      ...(await world.rows("SELECT body FROM ramp.events WHERE project_id = $1", [own.id])).map(({ body }) =>
        String(body),
      ),
    ];
    expect(texts.length).toBeGreaterThan(5);
    const names = PROTOTYPE_NAMES.length;
    for (const each of texts) expect(each.match(/": ?"kept"/g)).toHaveLength(names * names);
  });

  it("are unknown members of a body, of details and of a query", async () => {
    const auth = await newCustomer(world, project);
    for (const name of PROTOTYPE_NAMES) {
      const body = JSON.stringify(onramp({ srcAmount: "100.00" }));
      const inDetails = body.replaceAll('"details":{', `"details":{${JSON.stringify(name)}:"x",`);
      expect(inDetails).not.toBe(body);
      for (const [sent, error] of [
        [text(onramp(), `${JSON.stringify(name)}:1`), "INVALID_REQUEST"],
        [inDetails, "INVALID_ACCOUNT_DETAILS"],
      ] as const) {
        const { status, json } = await world.call("POST", "/v1/intent", { auth, text: sent });
        expect([name, status, json.error]).toEqual([name, 400, error]);
      }
      const asked = await get(`/v1/intents?${name}=1`);
      expect([name, asked.status]).toEqual([name, 400]);
      expect([name, (await get(`/v1/${name}`)).status]).toEqual([name, 404]);
    }
  });
});

describe("a query parameter that is not known", () => {
  it("is 400 on every path, and nothing to a provider's callback", async () => {
    const customer = await newCustomer(world, project);
    const refusals = ROUTES.map(async ({ method, path, access }) => {
      const auth = { project: project.basic, either: project.basic, customer }[access as "project"];
      const target = `${path.replace(/\{[^}]+\}/g, randomUUID())}?utm_source=mail`;
      const body = method === "GET" || method === "DELETE" ? {} : { body: {} };
      const { json } = await world.call(method, target, { ...body, ...(auth && { auth }) });
      const details = (json.details ?? []) as { path: string }[];
      return [method, path, json.error, details.find((detail) => detail.path === "/utm_source")?.path];
    });
    expect(await Promise.all(refusals)).toEqual(
      ROUTES.map(({ method, path, access }) =>
        access === "provider"
          ? [method, path, "INVALID_SIGNATURE", undefined]
          : [method, path, "INVALID_REQUEST", "/utm_source"],
      ),
    );
  });

  it("is ignored by a hosted page", async () => {
    const auth = await newCustomer(world, project);
    const { json } = await world.call("POST", "/v1/intent", { auth, body: north() });
    const { pathname } = new URL(String(json.onboardingUrl));
    expect((await world.call("GET", `${pathname}?utm_source=mail`)).status).toBe(200);
  });
});

describe("cancelling", () => {
  const cancel = (id: string, auth: string, key?: string): Promise<Reply> =>
    world.call("POST", `/v1/intent/${id}/cancel`, { auth, body: {}, ...(key ? { key } : {}) });
  const statusOf = async (id: string, auth: string): Promise<string> =>
    String((await get(`/v1/intent/${id}`, auth)).json.intent.status);

  it("ends an intent that waits for its payment to be started; a replay gives the same", async () => {
    const auth = await newCustomer(world, project);
    const id = await create(auth);
    const reply = await cancel(id, auth, "cancel-1");
    expect([reply.status, reply.json.intent.status], reply.text).toEqual([202, "CANCELLED"]);
    expect((await cancel(id, auth, "cancel-1")).headers.get("x-idempotency-replayed")).toBe("true");
    expect((await cancel(id, auth)).json.error).toBe("INTENT_CLOSED");
    const execution = await world.call("POST", `/v1/intent/${id}/transaction`, { auth, body: {} });
    expect(execution.json.error).toBe("INTENT_CLOSED");
  });

  it("ends an intent in its identity check", async () => {
    const auth = await newCustomer(world, project);
    const id = await create(auth, north());
    expect((await cancel(id, auth)).json.intent.status).toBe("CANCELLED");
  });

  it("is not possible for an intent that has ended, or is another customer's", async () => {
    const auth = await newCustomer(world, project);
    const id = await create(auth, { autoExecute: true });
    await eventually(
      () => statusOf(id, auth),
      (status) => status === "COMPLETED",
    );
    expect((await cancel(id, auth)).json.error).toBe("INTENT_CLOSED");
    expect((await cancel(id, await newCustomer(world, project))).json.error).toBe("NOT_FOUND");
    expect((await cancel("x", auth)).json.error).toBe("NOT_FOUND");
  });
});

const createWith = (auth: string, urls: Readonly<Record<string, string>>): Promise<Reply> =>
  world.call("POST", "/v1/intent", { auth, body: onramp(urls) });

it("redirect URLs may be at any origin until the project registers one, then at registered ones only", async () => {
  const project = await world.project();
  const auth = await newCustomer(world, project);
  const elsewhere = { onboardingRedirectUrl: "https://elsewhere.example.com/back" };
  expect((await createWith(auth, elsewhere)).status).toBe(201);
  made(await updateProject(world, project.id, { redirectOrigins: ["https://shop.example.com"] }));
  const registered = {
    onboardingRedirectUrl: "https://shop.example.com/a",
    checkoutRedirectUrl: "https://shop.example.com/b?c",
  };
  expect((await createWith(auth, registered)).status).toBe(201);
  expect((await createWith(auth, {})).status).toBe(201);
  for (const url of [
    "https://elsewhere.example.com/back",
    "http://shop.example.com/a",
    "https://shop.example.com:8443/a",
    "https://shop.example.com.evil.example/a",
    "https://shop.example.com@evil.example/a",
  ]) {
    const { status, json } = await createWith(auth, { checkoutRedirectUrl: url });
    expect([status, json.error, json.details?.[0]?.path], url).toEqual([
      400,
      "INVALID_REQUEST",
      "/checkoutRedirectUrl",
    ]);
  }
  made(await updateProject(world, project.id, { redirectOrigins: [] }));
  expect((await createWith(auth, elsewhere)).status).toBe(201);
});
