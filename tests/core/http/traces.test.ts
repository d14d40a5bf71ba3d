import { describe, expect, it } from "vitest";
import { requestText } from "../../../runtime/server/operations/request-log.js";
import { traceOf } from "../../../runtime/core/http/headers.js";
import { observation } from "../../support/observation.js";
import { KEYS } from "../../support/service.js";
import { sendRequest, post } from "../../support/http-client.js";
import { serveOrders } from "../../support/orders.js";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT = "00f067aa0ba902b7";

const of = (traceparent?: string) =>
  traceOf({ headers: { ...(traceparent !== undefined && { traceparent }) } });

describe("a request's traceparent", () => {
  it.each([
    ["00", "01", ""],
    ["00", "00", ""],
    ["cc", "01", ""],
    ["cc", "01", "-what-the-future-brings"],
    ["01", "03", "-"],
  ])("of version %s with flags %s and %j behind them is understood", (version, flags, more) => {
    expect(of(`${version}-${TRACE}-${PARENT}-${flags}${more}`)).toEqual({
      traceId: TRACE,
      parentId: PARENT,
      spanId: expect.stringMatching(/^[0-9a-f]{16}$/),
      flags,
    });
  });

  it("loses the flags that no version defines", () => {
    expect(of(`00-${TRACE}-${PARENT}-ff`)?.flags).toBe("03");
    expect(of(`00-${TRACE}-${PARENT}-f8`)?.flags).toBe("00");
  });

  it("gets a new span each time", () => {
    const spans = [1, 2, 3].map(() => of(`00-${TRACE}-${PARENT}-01`)?.spanId);
    expect(new Set([...spans, PARENT]).size).toBe(4);
  });

  it.each([
    undefined,
    "",
    "00",
    `00-${TRACE}-${PARENT}`,
    `00-${TRACE}-${PARENT}-01-more`,
    `00-${TRACE}-${PARENT}-01-`,
    `ff-${TRACE}-${PARENT}-01`,
    `00-${"0".repeat(32)}-${PARENT}-01`,
    `00-${TRACE}-${"0".repeat(16)}-01`,
    `00-${TRACE.toUpperCase()}-${PARENT}-01`,
    `00-${TRACE.slice(1)}-${PARENT}-01`,
    `00-${TRACE}-${PARENT}x-01`,
    `00-${TRACE}-${PARENT}-0`,
    `0-${TRACE}-${PARENT}-01`,
    `cc-${TRACE}-${PARENT}-01what`,
    ` 00-${TRACE}-${PARENT}-01`,
    `00-${TRACE}-${PARENT}-01, 00-${TRACE}-${PARENT}-01`,
    "x".repeat(10_000),
  ])("is passed over where it is not valid: %j", (header) => {
    expect(of(header)).toBeNull();
  });
});

const fieldsOf = (of: Parameters<typeof requestText>[0]) =>
  JSON.parse(`{${requestText(of)}}`) as Record<string, unknown>;

describe("the log line of a request", () => {
  it("has the trace, our span and the caller's span", () => {
    const trace = of(`00-${TRACE}-${PARENT}-01`);
    expect(fieldsOf(observation({ trace }))).toMatchObject({
      trace_id: TRACE,
      parent_id: PARENT,
      span_id: trace?.spanId,
    });
  });

  it("has no such fields without a trace", () => {
    expect(Object.keys(fieldsOf(observation()))).toEqual([
      "requestId",
      "method",
      "route",
      "status",
      "milliseconds",
      "rows",
      "bytes",
      "databaseMs",
      "key",
      "caller",
      "tier",
    ]);
  });
});

describe("an answer", async () => {
  const { url } = await serveOrders();
  const headers = { traceparent: `00-${TRACE}-${PARENT}-01`, tracestate: "vendor=opaque" };
  const continued = new RegExp(`^00-${TRACE}-(?!${PARENT})[0-9a-f]{16}-01$`);

  it.each(["/v1/shop/legacy", "/v1/shop/pages?limit=0", "/v1/none", "/v1/shop/tier3"])(
    "continues the caller's trace with a span of its own: %s",
    async (target) => {
      const reply = await sendRequest(url, target, { headers });
      expect(reply.headers["traceparent"]).toMatch(continued);
      expect(reply.headers["tracestate"]).toBeUndefined();
      const plain = await sendRequest(url, target);
      expect(plain.headers["traceparent"]).toBeUndefined();
      const {
        traceparent,
        date,
        "x-ratelimit-remaining": left,
        "x-ratelimit-reset": reset,
        ratelimit,
        "x-request-id": id,
        "server-timing": timing,
        ...others
      } = reply.headers;
      expect([traceparent, date, left, reset, ratelimit, id]).not.toContain(undefined);
      // Of this machine, and of responses with rows.
      expect(timing === undefined).toBe(reply.status !== 200);
      expect(plain.headers).toMatchObject(others);
    },
  );

  it("continues it for POST, HEAD and OPTIONS too", async () => {
    const posted = await post(url, "/v1/shop/filters", { id: "1" }, { headers });
    expect(posted.headers["traceparent"]).toMatch(continued);
    for (const method of ["HEAD", "OPTIONS"]) {
      const reply = await sendRequest(url, "/v1/shop/legacy", { method, headers, key: KEYS.tier1 });
      expect(reply.headers["traceparent"]).toMatch(continued);
    }
  });
});
