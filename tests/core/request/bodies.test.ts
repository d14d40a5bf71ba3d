import { describe, expect, it } from "vitest";
import { KEYS } from "../../support/service.js";
import { sendRequest, askRaw, post, refusal, statusAndBody } from "../../support/http-client.js";
import { idsOf, serveOrders } from "../../support/orders.js";

const { url } = await serveOrders();
const key = KEYS.tier3;
const MIB = 1024 * 1024;

const send = (body: unknown, target = "/v1/shop/filters"): Promise<readonly [number, unknown]> =>
  post(url, target, body, { key }).then(statusAndBody);
const ids = async (body: unknown): Promise<readonly number[]> =>
  idsOf((await post(url, "/v1/shop/filters", body, { key })).text);

const NOT_JSON = refusal(400, "Request body must be valid JSON.");
const NOT_OBJECT = refusal(400, "Request body must be a JSON object.");
const TOO_COMPLEX = refusal(
  400,
  "Request body must not hold more than 10000 values or nest deeper than 8 levels.",
);
const TOO_LARGE = refusal(413, "Request body must not be larger than 1048576 bytes.");

describe("the body of a POST", () => {
  it.each(["", " \n", "{}", "{ }"])("may be empty: %j", async (body) => {
    expect(await ids(body)).toEqual([1, 2, 3, 4, 5]);
  });

  it.each([
    "{",
    "nonsense",
    "{'id': 1}",
    '{"id": 1,}',
    '{"id": 01}',
    "{}{}",
    '{"id": NaN}',
    "\u0000",
    '{"a": "\t"}',
  ])("must be JSON: %j", async (body) => {
    expect(await send(body)).toEqual(NOT_JSON);
  });

  it("must be UTF-8", async () => {
    expect(await send(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]))).toEqual(NOT_JSON);
    expect(await send(Buffer.from('{"id": 1}', "utf16le"))).toEqual(NOT_JSON);
  });

  it.each(["1.0", "1.00000000000000000000", "1"])("may write the integer 1 as %s", async (one) => {
    const { text } = await post(url, "/v1/shop/pages", `{"limit": ${one}, "offset": ${one}}`, { key });
    expect(idsOf(text)).toEqual([2]);
  });

  it("may begin with a byte order mark", async () => {
    expect(await ids('\ufeff{"id": 1}')).toEqual([1]);
  });

  it.each(["[]", '[{"id": 1}]', '"id"', "1", "null", "true"])("must be an object: %s", async (body) => {
    expect(await send(body)).toEqual(NOT_OBJECT);
  });

  it("is read whatever its content type says", async () => {
    const headers = { "content-type": "text/plain" };
    expect(idsOf((await post(url, "/v1/shop/filters", { id: 1 }, { key, headers })).text)).toEqual([1]);
  });

  it("may come in pieces of unknown number", async () => {
    const headers = { "transfer-encoding": "chunked" };
    expect(idsOf((await post(url, "/v1/shop/filters", { id: 2 }, { key, headers })).text)).toEqual([2]);
  });

  it("is the only place for fields", async () => {
    const detail = "POST endpoints accept filter and pagination fields in JSON body only.";
    expect(await send({ id: 1 }, "/v1/shop/filters?id=1")).toEqual(refusal(400, detail));
    expect(await send("{", "/v1/shop/filters?x")).toEqual(refusal(400, detail));
    expect((await send({ id: 1 }, "/v1/shop/filters?"))[0]).toBe(200);
  });
});

describe("a field of a body", () => {
  it.each([
    ['{"id": 4}', [4]],
    ['{"id": "4"}', [4]],
    ['{"id": -0}', []],
    ['{"status": true}', []],
    ['{"amount": 18446744073709551615.00}', [4]],
    ['{"status": null, "id": 2}', [2]],
    ['{"any": ["Open", "Closed"]}', [1, 2]],
    ['{"any": "Open, Closed"}', [1, 2]],
    ['{"any": [null, "Open", " "]}', [1]],
    ['{"any": [1, true]}', []],
    ['{"any": ["Open,Closed"]}', []],
    ['{"id": 1, "id": 2}', [2]],
    ['{"\\u0069d": 3}', [3]],
    ['{"status": "Open"}', [1]],
  ])("is read: %s", async (body, expected) => {
    expect(await ids(body)).toEqual(expected);
  });

  it.each([
    ['{"status": {}}', "status"],
    ['{"status": ["Open"]}', "status"],
    ['{"status": []}', "status"],
    ['{"from": ["2024-01-01"]}', "from"],
    ['{"any": {}}', "any"],
    ['{"any": [["Open"]]}', "any"],
    ['{"any": [{"a": 1}]}', "any"],
  ])("must be a single value: %s", async (body, name) => {
    expect(await send(body)).toEqual(refusal(400, `Parameter '${name}' expects a single value.`));
  });

  it("keeps every digit of a long number, also beside a long text", async () => {
    expect(await ids('{"amount": 18446744073709551615.00, "label": "back\\\\slash"}')).toEqual([4]);
    const long = `{"amount": 18446744073709551615.00, "any_lower": ["held", "${'\\"'.repeat(500)}"]}`;
    expect(await ids(long)).toEqual([4]);
  });

  it.each([7, 8, 100_000])("nested %i levels deep is refused in its own words", async (depth) => {
    const brackets = `${"[".repeat(depth)}${"]".repeat(depth)}`;
    const single = refusal(400, "Parameter 'status' expects a single value.");
    expect(await send(`{"status": ${brackets}}`)).toEqual(depth === 7 ? single : TOO_COMPLEX);
    expect(await send(brackets)).toEqual(depth <= 8 ? NOT_OBJECT : TOO_COMPLEX);
    expect(await send("[".repeat(depth))).toEqual(depth <= 8 ? NOT_JSON : TOO_COMPLEX);
  });

  it("is a list of as many values as the parameter takes, in either spelling", async () => {
    const [kept, max] = ["any_many", 20_000] as const;
    const listOf = (count: number) => Array.from({ length: count }, (_, i) => String(i === 0 ? "Open" : i));
    for (const values of [listOf(max), listOf(max).join(",")])
      expect(await ids({ [kept]: values, label: "a" })).toEqual([1]);
    for (const values of [
      listOf(max + 1),
      listOf(max + 1).join(","),
      listOf(90_000),
      listOf(90_000).join(","),
    ])
      expect(await send({ [kept]: values })).toEqual(
        refusal(400, `Parameter '${kept}' allows at most ${String(max)} values.`),
      );
  });

  it("is refused with too many fields, lists and objects", async () => {
    const fields = Array.from({ length: 10_001 }, (_, i) => `"f${String(i)}":1`).join(",");
    for (const body of [
      `{${fields}}`,
      `{"any":[${"[],".repeat(10_000)}1]}`,
      `{"any":[${"{},".repeat(10_000)}1]}`,
    ])
      expect(await send(body)).toEqual(TOO_COMPLEX);
  });

  it("counts no bracket and no comma of a text", async () => {
    const text = `${"[,".repeat(490)}\\"]`;
    expect(await send(`{"status": "${text}"}`)).toEqual([200, []]);
  });
});

describe("the size of a body", () => {
  const ofBytes = (size: number): string => `{"id": 1${" ".repeat(size - 9)}}`;
  const chunked = { "transfer-encoding": "chunked" };

  it("may be 1 MiB, with and without Content-Length", async () => {
    expect(await ids(ofBytes(MIB))).toEqual([1]);
    const reply = await post(url, "/v1/shop/filters", ofBytes(MIB), { key, headers: chunked });
    expect(idsOf(reply.text)).toEqual([1]);
  });

  it.each([MIB + 1, 5 * MIB])("must not be %i bytes, with and without Content-Length", async (size) => {
    const reply = await post(url, "/v1/shop/filters", ofBytes(size), { key });
    expect(statusAndBody(reply)).toEqual(TOO_LARGE);
    expect(reply.headers.connection).toBe("close");
    expect(
      await post(url, "/v1/shop/filters", ofBytes(size), { key, headers: chunked }).then(statusAndBody),
    ).toEqual(TOO_LARGE);
  });

  it("is refused before the body is sent if Content-Length is too large", async () => {
    const head = `POST /v1/shop/filters HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n`;
    expect(await askRaw(url, head)).toMatch(/^HTTP\/1\.1 413 Payload Too Large\r\n/);
  });

  it("does not matter to an endpoint that takes no body", async () => {
    const reply = await sendRequest(url, "/v1/shop/get_only", { key, body: ofBytes(MIB + 1) });
    expect(reply.status).toBe(200);
  });
});
