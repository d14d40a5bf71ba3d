import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { KEYS } from "../../support/service.js";
import { sendRequest, post, type Reply } from "../../support/http-client.js";
import { leastUntilBelow } from "../../support/processor-time.js";
import { Client } from "../http/client.js";
import { ownService } from "../http/own-service.js";

const service = await ownService();
const MIB = 1024 * 1024;

/** Limit of the processor time of one request, in multiples of parsing 1 MiB of JSON: for that long no other is answered. */
const MOST_TIMES = 4;

/** Requests that are measured together: one is too short for the clock of the processor. */
const AT_ONCE = 8;

/** A body of 1 MiB: pieces between a beginning and an end. */
function filled(begin: string, piece: (i: number) => string, end: string): string {
  const pieces = [];
  let length = begin.length + end.length;
  for (let i = 0; ; i++) {
    const next = piece(i);
    if ((length += Buffer.byteLength(next)) > MIB) return begin + pieces.join("") + end;
    pieces.push(next);
  }
}

const always = (text: string) => (): string => text;
const listed = (item: string) => (i: number) => (i === 0 ? item : `,${item}`);
const named = (name: (i: number) => string) => (i: number) => `${i === 0 ? "" : ","}"${name(i)}":1`;
const different = (i: number): string => `${i === 0 ? "" : ","}"${i.toString(36)}"`;

const DEPTH = MIB / 2 - 20;
const nested = "[".repeat(DEPTH) + "]".repeat(DEPTH);

/** What a request costs, which is answered with a status. */
const costOf = (send: () => Promise<Reply>, status: number): Promise<number> =>
  leastUntilBelow(MOST_TIMES, () =>
    service.processorCost(async () => expect((await send()).status).toBe(status)),
  );

const postOrders = (body: string) => (): Promise<Reply> =>
  post(service.url, "/v1/shop/orders", body, { key: KEYS.tier3 });
it.each([
  ["of lists in lists", nested, 400],
  ["of lists that never end", "[".repeat(MIB), 400],
  ["of objects in objects", filled("", always('{"a":'), ""), 400],
  ["of lists in a list in a field", `{"any":${nested}}`, 400],
  ["of empty objects in a field", filled('{"any":[', listed("{}"), "]}"), 400],
  [
    "of fields nobody knows",
    filled(
      "{",
      named((i) => i.toString(36)),
      "}",
    ),
    400,
  ],
  [
    "of fields nobody knows, in reverse",
    filled(
      "{",
      named((i) => (1e6 - i).toString(36)),
      "}",
    ),
    400,
  ],
  ["of fields named by numbers", filled("{", named(String), "}"), 400],
  ["of one field again and again", filled("{", named(always("status")), "}"), 400],
  ["of a list of texts", filled('{"any":[', listed('"a"'), "]}"), 400],
  ["of a list of different texts", filled('{"any":[', different, "]}"), 400],
  ["of a list of quotes", filled('{"any":[', listed('"\\""'), "]}"), 400],
  ["of a list of numbers", filled('{"any":[', listed("1"), "]}"), 400],
  ["of a list of long numbers", filled('{"any":[', listed("1234567890123456"), "]}"), 400],
  ["of a list with commas", filled('{"any":"', listed("a"), '"}'), 400],
  ["of nothing but commas", filled('{"any":"', always(","), '"}'), 200],
  ["of one text", filled('{"status":"', always("a"), '"}'), 400],
  ["of one number", filled('{"status":', always("1"), "}"), 400],
  [
    "of quotes beside a long number",
    filled('{"id":1234567890123456789,"status":"', always('\\"'), '"}'),
    400,
  ],
  ["of digits that are nearly a long number", filled('{"status":"', always("1.1.1.1.1.1.1.x"), '"}'), 400],
  ["of blanks in a text", filled('{"status":"a', always(" "), 'b"}'), 400],
  ["of blanks", " ".repeat(MIB), 200],
])("a body of 1 MiB does not block other requests for long %s", async (_, body, expected) => {
  expect(await costOf(postOrders(body), expected)).toBeLessThan(MOST_TIMES);
});

describe("a URL of 15 kB does not block other requests for long", () => {
  const full = (piece: (i: number) => string): string => filled("", piece, "").slice(0, 15_000);

  it.each([
    ["of parameters nobody knows", `/v1/shop/orders?${full((i) => `&${i.toString(36)}`)}`, 400],
    ["of parameters without a name", `/v1/shop/orders?${full(always("&="))}`, 400],
    ["of one parameter", `/v1/shop/orders?${full(always("&any=1"))}`, 400],
    ["of a list", `/v1/shop/orders?any=${full(always("1,"))}`, 400],
    ["of escapes", `/v1/shop/orders?status=${full(always("%41"))}`, 400],
    ["of broken escapes", `/v1/shop/orders?status=${full(always("%"))}`, 400],
    ["of escapes in its path", `/${full(always("%41"))}`, 404],
    ["of steps back in its path", `/docs${full(always("/.."))}`, 404],
  ])("%s", async (_, target, expected) => {
    const send = (): Promise<Reply> => sendRequest(service.url, target, { key: KEYS.tier3 });
    expect(await costOf(send, expected)).toBeLessThan(MOST_TIMES);
  });
});

it.each(["accept", "accept-encoding"])("850 entries in %s cost no more than a short one", async (name) => {
  const entries = Array.from({ length: 850 }, (_, i) => `a/${i.toString(36)};q=0.${String(i)}`);
  const costWith = (value: string) =>
    service.processorCost(async () => {
      const headers = { [name]: value };
      for (let i = 0; i < AT_ONCE; i++)
        expect(
          (await sendRequest(service.url, "/v1/shop/orders?id=1", { key: KEYS.tier3, headers })).status,
        ).toBe(400);
    });
  const times = await leastUntilBelow(
    MOST_TIMES,
    async () => (await costWith(entries.join(", "))) / (await costWith("*/*")),
  );
  expect(times).toBeLessThan(MOST_TIMES);
});

describe("a body in chunks of one byte", () => {
  const head = [
    "POST /v1/shop/orders HTTP/1.1",
    "Host: x",
    "Transfer-Encoding: chunked",
    `X-API-Key: ${KEYS.tier3}`,
  ].join("\r\n");
  const body = `{"status":"${"a".repeat(500_000)}"}`;
  const chunks = Array.from(body, (byte) => `1\r\n${byte}\r\n`).join("");

  it("takes no more memory than in one chunk", async () => {
    const client = await Client.saying(service.url, "");
    const keptBytes = await service.keptBytes(async () => {
      client.send(`${head}\r\n\r\n${chunks}`);
      while (client.socket.writableLength > 0) await sleep(10);
    });
    expect(keptBytes).toBeLessThan(4 * body.length);
    client.send("0\r\n\r\n");
    await client.hears(/"\}$/);
    // A value of half a million characters is over the limit of its parameter.
    expect(client.statuses).toEqual([400]);
  });
});
