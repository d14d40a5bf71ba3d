import fc from "fast-check";
import { expect, it } from "vitest";
import { anyText, webPath } from "../../support/any-text.js";
import { KEYS } from "../../support/service.js";
import { sendRequest, type RequestOptions } from "../../support/http-client.js";
import { serveOrders } from "../../support/orders.js";

const { url } = await serveOrders({ TRUST_PROXY: "1", METRICS_PUBLIC: "true" });

const RESOURCES = [
  "filters",
  "guarded",
  "needy",
  "pages",
  "envelope",
  "sorted",
  "legacy",
  "get_only",
  "tier1",
  "none",
];
const KNOWN = [
  ...RESOURCES.map((resource) => `/v1/shop/${resource}`),
  "/",
  "/health",
  "/openapi.json",
  "/metrics",
];
const NAMES = [
  "status",
  "status_lower",
  "label",
  "from",
  "to",
  "any",
  "id",
  "amount",
  "limit",
  "offset",
  "sort_by",
  "sort_direction",
  "x",
  "__proto__",
];

const word = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      "Open",
      "2024-01-03",
      "2024-02-30",
      "1",
      "-1",
      "0",
      "id",
      "asc",
      "DESC",
      "%",
      "_",
      "",
      " ",
      "a,b,c,d",
      "NaN",
    ),
  },
  { weight: 2, arbitrary: anyText(12) },
  { weight: 1, arbitrary: fc.string({ unit: "grapheme", maxLength: 12 }) },
);

const mutation = fc.constantFrom("", "", "", "", "/", "//", "%00", "%zz", "%2e%2e", ";", "'", "?", "#");
const path = fc
  .tuple(fc.oneof(fc.constantFrom(...KNOWN), webPath), mutation)
  .map(([known, tail]) => `/${`${known}${tail}`.replace(/^\/+/, "")}`);

const pair = fc.tuple(
  fc.oneof({ weight: 5, arbitrary: fc.constantFrom(...NAMES) }, { weight: 1, arbitrary: word }),
  word,
);
const encoded = (text: string): string => encodeURIComponent(text.toWellFormed());
const search = fc.oneof(
  {
    weight: 4,
    arbitrary: fc
      .array(pair, { maxLength: 3 })
      .map((pairs) => pairs.map(([name, value]) => `${encoded(name)}=${encoded(value)}`).join("&")),
  },
  {
    weight: 1,
    arbitrary: fc.string({ unit: fc.constantFrom(..."&=%+,;a1?/[]{}'\"\\".split("")), maxLength: 12 }),
  },
);

const value = fc.oneof(
  word,
  fc.integer(),
  fc.double(),
  fc.boolean(),
  fc.constant(null),
  fc.array(word, { maxLength: 4 }),
  fc.jsonValue({ maxDepth: 2 }),
);
const body = fc.oneof(
  {
    weight: 4,
    arbitrary: fc
      .dictionary(fc.constantFrom(...NAMES), value, { maxKeys: 3 })
      .map((json) => JSON.stringify(json)),
  },
  { weight: 1, arbitrary: fc.json() },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 30 }).map((bytes) => Buffer.from(bytes)) },
);

const headers = fc.record(
  {
    "x-api-key": fc.constantFrom(...Object.values(KEYS), KEYS.tier3, KEYS.tier3, "sk_live_x"),
    "x-request-id": fc.string({ unit: "grapheme-ascii", maxLength: 20 }),
    "content-type": fc.constantFrom(
      "application/json",
      "text/plain",
      "application/json; charset=utf-16",
      ";",
    ),
    accept: fc.constantFrom("*/*", "text/html", "application/xml;q=0"),
    origin: fc.constant("https://example.org"),
    range: fc.constant("bytes=0-1"),
    "if-none-match": fc.constant("*"),
    "content-encoding": fc.constantFrom("gzip", "identity"),
  },
  { requiredKeys: [] },
);

let callers = 0;
/** Each request comes from an address of its own, so that a used-up window hides nothing. */
function nextAddress(): string {
  callers++;
  return `10.${String((callers >> 16) & 255)}.${String((callers >> 8) & 255)}.${String(callers & 255)}`;
}

const question = fc.record({
  method: fc.constantFrom("GET", "GET", "POST", "POST", "HEAD", "OPTIONS", "DELETE", "PUT", "PROPFIND"),
  target: fc.tuple(path, search).map(([known, query]) => (query === "" ? known : `${known}?${query}`)),
  headers,
  body: fc.option(body, { nil: undefined }),
});

/** As many as fit 10 ms each; `HANDLER_REQUESTS=100000` for a longer look. */
const REQUESTS = Number(process.env["HANDLER_REQUESTS"] ?? 1500);

it(
  "any request is answered in the form of the law, and never with a failure",
  { timeout: 600_000 + 10 * REQUESTS },
  async () => {
    await fc.assert(
      fc.asyncProperty(question, async ({ method, target, headers, body }) => {
        const sent: RequestOptions = {
          method,
          headers: { ...headers, "x-forwarded-for": nextAddress() },
          ...(method === "POST" || method === "PUT" ? { body } : {}),
        };
        const reply = await sendRequest(url, target.replace(/[^\x21-\x7e]/g, ""), sent);
        expect(reply.status).toBeLessThan(500);
        expect(reply.headers["x-ratelimit-limit"]).toMatch(/^\d+$/);
        expect(reply.headers["x-ratelimit-remaining"]).toMatch(/^\d+$/);
        expect(reply.headers["x-ratelimit-reset"]).toMatch(/^\d{10}$/);
        expect(reply.headers["x-request-id"]).toMatch(/^[\w.-]{1,128}$/);
        // No page of another origin reads what is for operators.
        const isForOperators = /^\/(metrics|health)(?:[?#]|$)/.test(target);
        if (!isForOperators) expect(reply.headers["access-control-allow-origin"]).toBe("*");
        if (method === "HEAD" || reply.status === 204) expect(reply.text).toBe("");
        else if (reply.status >= 400) expect(JSON.parse(reply.text)).toEqual({ detail: expect.any(String) });
        else if (reply.status === 206) expect(reply.headers["content-range"]).toMatch(/^bytes 0-1\/\d+$/);
        else if (reply.headers["content-type"]?.startsWith("application/json")) JSON.parse(reply.text);
      }),
      { numRuns: REQUESTS, interruptAfterTimeLimit: 10 * REQUESTS, markInterruptAsFailure: false },
    );
  },
);
