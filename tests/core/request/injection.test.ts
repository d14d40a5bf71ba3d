import { expect, it } from "vitest";
import { ownerQuery } from "../../support/engines.js";
import { KEYS } from "../../support/service.js";
import { sendRequest, post } from "../../support/http-client.js";
import { serveOrders } from "../../support/orders.js";

const { url, schema } = await serveOrders();
const key = KEYS.tier3;

const HOSTILE = [
  "' OR '1'='1",
  "'; DROP TABLE orders; --",
  `"; DROP TABLE "${schema}".orders; --`,
  `') UNION SELECT 1, '2024-01-01', now(), usename, passwd, 1 FROM pg_shadow --`,
  "1; SELECT pg_sleep(10)",
  "\\'; DELETE FROM orders; --",
  "$1",
  "$$; TRUNCATE orders; $$",
  "%' OR 1=1 --",
  "{1,2}",
  '{"Open","Closed"}',
  "NULL",
  "(SELECT 1)",
  "E'\\x27'",
  "/* */ --",
  "﹜＇ ʼ OR 1=1",
  "Open\u2028' OR 1=1",
  "id; DROP TABLE orders",
  "id DESC, (SELECT 1/0)",
  "CASE WHEN 1=1 THEN id END",
  "pg_catalog.pg_authid",
  "${7*7}",
  "'||pg_sleep(10)||'",
];

const FIELDS = [
  "status",
  "status_lower",
  "label",
  "from",
  "to",
  "any",
  "any_lower",
  "id",
  "amount",
  "at_from",
  "limit",
  "offset",
  "sort_by",
  "sort_direction",
];

const RESOURCES = ["pages", "sorted", "envelope"] as const;

/** One resource for each field and value, so that each field and each value meets all of them; with `EVERY_INJECTION=1` all. */
const resourcesOf = (field: number, value: number) =>
  process.env["EVERY_INJECTION"] === "1" ? RESOURCES : [RESOURCES[(field + value) % RESOURCES.length]!];

const contents = (): Promise<unknown> => ownerQuery(`SELECT * FROM "${schema}".orders ORDER BY id`);
const before = await contents();

it.each(FIELDS)("a hostile value of %s selects nothing, fails nothing and changes nothing", async (field) => {
  for (const [i, value] of HOSTILE.entries()) {
    const search = new URLSearchParams(
      field === "sort_direction" ? { sort_by: "id", sort_direction: value } : { [field]: value },
    ).toString();
    for (const resource of resourcesOf(FIELDS.indexOf(field), i)) {
      const got = await sendRequest(url, `/v1/shop/${resource}?${search}`, { key });
      const posted = await post(url, `/v1/shop/${resource}`, { [field]: value }, { key });
      for (const { status, text } of [got, posted]) {
        expect([value, status]).toEqual([value, expect.toBeOneOf([200, 400])]);
        if (status === 200) expect(text).toMatch(/^\[\]$|^\{"items":\[\],/);
      }
    }
  }
  expect(await contents()).toEqual(before);
});

it("a hostile parameter name is reported as not supported", async () => {
  for (const name of HOSTILE) {
    const reply = await sendRequest(
      url,
      `/v1/shop/filters?${new URLSearchParams({ [name]: "1" }).toString()}`,
      { key },
    );
    expect(reply.status).toBe(400);
    expect((JSON.parse(reply.text) as { detail: string }).detail).toBe(
      `Unsupported query parameters: ${name}`,
    );
  }
  expect(await contents()).toEqual(before);
});

it("a hostile path is not found", async () => {
  for (const name of HOSTILE)
    expect((await sendRequest(url, `/v1/shop/${encodeURIComponent(name)}`, { key })).status).toBe(404);
  expect(await contents()).toEqual(before);
});
