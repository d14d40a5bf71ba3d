import { createServer, type IncomingMessage } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { randomUUID } from "node:crypto";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import pino from "pino";
import { describe, expect, it } from "vitest";
import { COMPILED_ONCE } from "../../support/compiled-once.js";
import { KeyDatabase } from "../../../runtime/server/accounts/key-database.js";
import { MeteringPush } from "../../../runtime/server/accounts/metering-push.js";
import { type MeteringFormat, METERING_FORMATS } from "../../../runtime/server/accounts/metering-formats.js";
import { routewright } from "../../commands/run.js";
import { atEnd } from "../../support/at-end.js";
import { ownDatabase, queryAt } from "../../support/database.js";
import { ownFolder } from "../../support/service.js";

/** A database of keys with the organizations cus_1 and cus_2, whose hours are open from the year's beginning. */
async function metered() {
  const url = await ownDatabase();
  const store = await KeyDatabase.open(url);
  for (const org of ["cus_1", "cus_2"]) await store.create({ tier: "tier1", user: "a", org });
  await store.close();
  await queryAt(url, "UPDATE routewright_keys.metering SET closed_until = '2026-01-01Z'");
  const report = (given: object) =>
    queryAt(url, "SELECT routewright_keys.report_use($1) AS answer", [
      JSON.stringify({
        process: randomUUID(),
        batch: 1,
        until: "2026-01-01T11:59:00Z",
        shares: [],
        ...given,
      }),
    ]);
  const close = () => queryAt(url, "SELECT routewright_keys.close_hours()");
  return { url, report, close };
}

const count = (organization: number, hour: string, requests = 1, endpoint = "/v1/shop/sales") => ({
  hour: `2026-01-01T${hour}:00:00Z`,
  organization,
  key: "0123456789ab",
  endpoint,
  requests,
  rows: requests * 10,
  bytes: requests * 1000,
  database_ms: 5,
});

const HOURS = `SELECT to_char(hour AT TIME ZONE 'UTC', 'HH24') AS hour, requests::int, hour < closed_until AS closed
  FROM routewright_keys.metered, routewright_keys.metering ORDER BY 1`;

describe("an hour", () => {
  it("is closed once every process has reported it, and later counts go to the open one", async () => {
    const { url, report, close } = await metered();
    const slow = randomUUID();
    await report({ process: slow, until: "2026-01-01T10:30:00Z", counts: [count(1, "09")] });
    await report({ until: "2026-01-01T12:30:00Z", counts: [count(1, "10"), count(1, "12")] });
    await close();
    expect(await queryAt(url, HOURS)).toEqual([
      { hour: "09", requests: 1, closed: true },
      { hour: "10", requests: 1, closed: false },
      { hour: "12", requests: 1, closed: false },
    ]);
    // The slow one is taken for dead, and comes back with what it counted.
    await queryAt(
      url,
      `UPDATE routewright_keys.processes SET seen_at = now() - interval '1 minute' WHERE id = '${slow}'`,
    );
    await close();
    await report({ process: slow, batch: 2, until: "2026-01-01T12:40:00Z", counts: [count(1, "10", 7)] });
    expect(await queryAt(url, HOURS)).toEqual([
      { hour: "09", requests: 1, closed: true },
      { hour: "10", requests: 1, closed: true },
      { hour: "12", requests: 8, closed: false },
    ]);
  });

  it("counts a report once, however often it arrives", async () => {
    const { url, report } = await metered();
    const same = { process: randomUUID(), batch: 3, counts: [count(1, "10", 4)] };
    await Promise.all([report(same), report(same), report(same)]);
    await report({ ...same, batch: 2 });
    await report({ ...same, batch: 4 });
    expect(await queryAt(url, HOURS)).toMatchObject([{ requests: 8 }]);
    expect(
      await queryAt(url, "SELECT requests::int FROM routewright_keys.month_use WHERE requests > 0"),
    ).toEqual([{ requests: 8 }]);
  });
});

/** A billing system that answers so, once it may, and what it was sent. */
async function billing(
  answer: (body: string, request: IncomingMessage) => readonly [number, string?] = () => [204],
  mayAnswer: Promise<void> = Promise.resolve(),
) {
  const bodies: string[] = [];
  const headers: IncomingMessage["headers"][] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request
      .on("data", (chunk: Buffer) => chunks.push(chunk))
      .on("end", () => {
        const body = Buffer.concat(chunks).toString();
        bodies.push(body);
        headers.push(request.headers);
        const [status, text = ""] = answer(body, request);
        if (status === 0) request.socket.destroy();
        else void mayAnswer.then(() => response.writeHead(status).end(text));
      });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  atEnd(() => void server.close());
  return {
    url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/events`,
    bodies,
    headers,
  };
}

const COUNTS = [count(1, "09"), count(1, "10", 3), count(2, "10", 5, "/v1/shop/'\";,=1"), count(2, "11")];

/** With two hours of two organizations that are closed, and one that is open. */
async function pushTo(url: string, format: MeteringFormat = "cloudevents", counts = COUNTS) {
  const database = await metered();
  await database.report({ counts });
  await database.close();
  const target = { url, format, token: "secret", unit: "requests" } as const;
  const make = () => new MeteringPush(database.url, target, pino({ level: "silent" }));
  const start = () => {
    const push = make();
    atEnd(() => push.close());
    return push;
  };
  const expire = () => queryAt(database.url, "UPDATE routewright_keys.metered SET claimed_until = NULL");
  return { ...database, make, start, expire };
}

const many = (number: number) => Array.from({ length: number }, (_, i) => count(1, "09", 1, `/${String(i)}`));

interface CloudEvent {
  readonly id: string;
  readonly subject: string;
  readonly time: string;
  readonly data: { readonly requests: number };
}
const events = (body: string | undefined): readonly CloudEvent[] => JSON.parse(body ?? "[]") as CloudEvent[];

const NOT_SENT = `SELECT count(*)::int AS lines FROM routewright_keys.metered, routewright_keys.metering
  WHERE sent_at IS NULL AND hour < closed_until`;

describe("METERING_URL", () => {
  it("gets each closed hour once, by several processes", async () => {
    const { url, bodies, headers } = await billing();
    const { start } = await pushTo(url);
    await Promise.all([start().push(), start().push(), start().push()]);
    await start().push();
    const all = bodies.flatMap(events);
    expect(all.map(({ subject, time, data }) => [subject, time, data.requests]).sort()).toEqual([
      ["cus_1", "2026-01-01T09:00:00Z", 1],
      ["cus_1", "2026-01-01T10:00:00Z", 3],
      ["cus_2", "2026-01-01T10:00:00Z", 5],
    ]);
    expect(headers[0]).toMatchObject({
      "content-type": "application/cloudevents-batch+json",
      authorization: "Bearer secret",
    });
  });

  it("gets the same identifiers where its answer was lost", async () => {
    let answers = 0;
    const { url, bodies } = await billing(() => [[500, 0, 204][answers++] ?? 204]);
    const { start, expire } = await pushTo(url);
    const push = start();
    for (let i = 0; i < 4; i++) {
      await push.push();
      await expire();
    }
    const ids = bodies.map((body) =>
      events(body)
        .map(({ id }) => id)
        .sort(),
    );
    expect(ids).toHaveLength(3);
    expect(ids[1]).toEqual(ids[0]);
    expect(ids[2]).toEqual(ids[0]);
    expect(new Set(ids[0]).size).toBe(3);
  });

  it("that does not take one event gets the others, and one that it knows is not sent again", async () => {
    const { url, bodies } = await billing((body) =>
      body.includes("cus_2")
        ? [422, '{"error_details": {"external_subscription_id": ["not_found"]}}']
        : events(body).length > 1 || !body.includes("T09")
          ? [204]
          : [422, '{"transaction_id": ["value_already_exist"]}'],
    );
    const { url: database, start } = await pushTo(url);
    await start().push();
    expect(bodies.map((body) => events(body).length)).toEqual([3, 1, 1, 1]);
    expect(
      await queryAt(
        database,
        "SELECT organization::int FROM routewright_keys.metered WHERE sent_at IS NULL AND claimed_until IS NOT NULL",
      ),
    ).toEqual([{ organization: 2 }]);
  });

  it("gets all others in one go, however many there are beside lines that it refuses", async () => {
    const { url } = await billing((body) => [/"\/\d"/.test(body) ? 400 : 204]);
    const { start, expire, url: database } = await pushTo(url, "cloudevents", many(250));
    await start().push();
    expect(await queryAt(database, NOT_SENT)).toEqual([{ lines: 10 }]);
    await expire();
    await start().push();
    expect(await queryAt(database, NOT_SENT)).toEqual([{ lines: 10 }]);
  });

  it("that refuses all is not asked for each of many lines, and soon gets those that it was never sent", async () => {
    let isRefusing = true;
    const { url, bodies } = await billing(() => [isRefusing ? 400 : 204]);
    const { start, url: database } = await pushTo(url, "stripe", many(130));
    await start().push();
    expect(bodies).toHaveLength(100);
    const soon = "UPDATE routewright_keys.metered SET claimed_until = now() WHERE claimed_until IS NOT NULL";
    await queryAt(database, soon);
    isRefusing = false;
    await start().push();
    expect(new Set(bodies.slice(0, 200)).size).toBe(130);
    expect(bodies).toHaveLength(230);
  });

  it("is asked for nothing more by a server that stops", async () => {
    let answer = (): void => undefined;
    const { url, bodies } = await billing(undefined, new Promise((resolve) => (answer = resolve)));
    const { make } = await pushTo(url, "stripe", many(60));
    const push = make();
    void push.push();
    await expect.poll(() => bodies.length, { interval: 10 }).toBeGreaterThan(0);
    const closing = push.close();
    answer();
    await closing;
    expect(bodies.length).toBeLessThanOrEqual(10);
  });

  it("has what it acknowledges with a body that is too long, or no text", async () => {
    const { url } = await billing(() => [200, "a".repeat(1024 ** 2)]);
    const { start, url: database } = await pushTo(url);
    await start().push();
    expect(await queryAt(database, NOT_SENT)).toEqual([{ lines: 0 }]);
  });
});

/** What the three publish: OpenMeter `api/spec/src/events.tsp` (00da335), Lago `src/schemas/EventBatchInput.yaml` (1c8adf4), Stripe's parameters of `POST /v1/billing/meter_events`. */
const text = { type: "string", minLength: 1 };
const SCHEMAS: Readonly<Record<MeteringFormat, object>> = {
  cloudevents: {
    type: "array",
    items: {
      type: "object",
      required: ["id", "source", "specversion", "type", "subject"],
      properties: {
        id: text,
        source: { ...text, format: "uri-reference" },
        specversion: text,
        type: text,
        datacontenttype: { enum: ["application/json", null] },
        dataschema: { type: ["string", "null"], format: "uri" },
        subject: text,
        time: { type: ["string", "null"], format: "date-time" },
        data: { type: ["object", "null"] },
      },
    },
  },
  lago: {
    type: "object",
    required: ["events"],
    properties: {
      events: {
        type: "array",
        items: {
          type: "object",
          required: ["transaction_id", "code"],
          properties: {
            transaction_id: { type: "string" },
            external_customer_id: { type: "string" },
            external_subscription_id: { type: "string" },
            code: { type: "string" },
            timestamp: { anyOf: [{ type: "integer" }, { type: "string" }] },
            properties: {
              type: "object",
              additionalProperties: { oneOf: [{ type: "string" }, { type: "integer" }, { type: "number" }] },
            },
          },
        },
      },
    },
  },
  stripe: {
    type: "object",
    additionalProperties: false,
    required: ["event_name", "payload[stripe_customer_id]", "payload[value]"],
    properties: {
      event_name: { type: "string", maxLength: 100 },
      identifier: { type: "string", maxLength: 100 },
      timestamp: { type: "string", pattern: "^\\d{10}$" },
      "payload[stripe_customer_id]": { type: "string" },
      "payload[value]": { type: "string", pattern: "^\\d+$" },
    },
  },
};

it.each(METERING_FORMATS)("what is sent as %s is what the program publishes", async (format) => {
  const { url, bodies } = await billing();
  const { start } = await pushTo(url, format);
  await start().push();
  const ajv = new Ajv2020({ ...COMPILED_ONCE, strict: false });
  addFormats.default(ajv);
  const sent = bodies.map((body): unknown =>
    format === "stripe" ? Object.fromEntries(new URLSearchParams(body)) : JSON.parse(body),
  );
  expect(sent).toHaveLength(format === "stripe" ? 3 : 1);
  for (const body of sent) expect([ajv.validate(SCHEMAS[format], body), ajv.errors]).toEqual([true, null]);
  if (format === "stripe")
    expect(sent).toContainEqual({
      event_name: "routewright_requests",
      identifier: expect.stringMatching(/^[0-9a-f]{32}$/) as string,
      timestamp: String(Date.parse("2026-01-01T10:00:00Z") / 1000),
      "payload[stripe_customer_id]": "cus_2",
      "payload[value]": "5",
    });
});

describe("routewright usage --format", () => {
  it("prints hours as CSV, JSON and CloudEvents with the identifiers that are pushed", async () => {
    const { url, bodies } = await billing();
    const { url: database, start } = await pushTo(url);
    await start().push();
    const pushed = events(bodies[0]);
    const usage = (...args: readonly string[]) =>
      routewright(ownFolder(), ["usage", ...args], { KEYS_DATABASE_URL: database });
    expect(events((await usage("--format", "cloudevents")).out)).toEqual(pushed);
    const json = JSON.parse((await usage("--format", "json", "--since", "2026-01-01")).out) as object[];
    expect(json).toHaveLength(4);
    expect(json[0]).toMatchObject({
      closed: true,
      organization: "cus_1",
      hour: "2026-01-01T09:00:00Z",
      rows: 10,
    });
    const { out } = await usage("--format", "csv");
    const [header, first = "", , third] = out.split("\r\n");
    expect(header).toBe("id,hour,closed,organization,key,endpoint,requests,rows,bytes,databaseMs");
    expect(first).toMatch(
      /^[0-9a-f]{32},2026-01-01T09:00:00Z,true,cus_1,0123456789ab,\/v1\/shop\/sales,1,10,1000,5$/,
    );
    expect(third).toContain(`"/v1/shop/'"";,=1"`);
    expect((await usage("--format", "csv", "--since", "2027-01-01")).out.split("\r\n")).toHaveLength(2);
  });

  it.each([
    [["--format", "csv", "--key", "ab"], {}, "--format goes with --since alone"],
    [["--format", "csv", "--since", "x"], {}, "--since must be a day in UTC"],
    [["--format", "csv"], {}, "Set KEYS_DATABASE_URL"],
    [
      ["--format", "csv"],
      { KEYS_DATABASE_URL: "postgres://127.0.0.1:1/none" },
      "KEYS_DATABASE_URL: connect ECONNREFUSED",
    ],
  ])("refuses %j with %j", async (args, variables, message) => {
    const { exit, err } = await routewright(ownFolder(), ["usage", ...args], variables);
    expect([exit, err]).toEqual([2, expect.stringContaining(message)]);
  });
});
