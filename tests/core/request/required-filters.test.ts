import { describe, expect, it } from "vitest";
import { KEYS } from "../../support/service.js";
import { sendRequest, post, refusal, statusAndBody } from "../../support/http-client.js";
import { idsOf, serveOrders } from "../../support/orders.js";

const { url } = await serveOrders();
const key = KEYS.tier3;
const get = (target: string): Promise<readonly [number, unknown]> =>
  sendRequest(url, `/v1/shop/${target}`, { key }).then(statusAndBody);

const FILTER_REQUIRED = refusal(400, "At least one business filter is required for this endpoint.");
const ANY_OF_REQUIRED = refusal(400, "At least one of [from, to] is required for this endpoint.");

describe("an endpoint that does not allow unfiltered requests", () => {
  it.each(["needy", "needy?", "needy?limit=1", "needy?limit=1&offset=1", "needy?status=", "needy?any=,"])(
    "refuses one without a declared parameter: %s",
    async (target) => {
      expect(await get(target)).toEqual(FILTER_REQUIRED);
    },
  );

  it.each([undefined, {}, { limit: 1 }, { status: null }, { status: " " }, { any: [] }, { any: [null, ""] }])(
    "refuses a body without one: %j",
    async (body) => {
      expect(statusAndBody(await post(url, "/v1/shop/needy", body, { key }))).toEqual(FILTER_REQUIRED);
    },
  );

  it("is content with any one", async () => {
    expect(idsOf((await sendRequest(url, "/v1/shop/needy?status=Open", { key })).text)).toEqual([1]);
    expect((await post(url, "/v1/shop/needy", { id: 1 }, { key })).status).toBe(200);
  });
});

describe("an endpoint that requires any of some parameters", () => {
  it("asks for a filter at all first, then for one of them", async () => {
    expect(await get("guarded")).toEqual(FILTER_REQUIRED);
    expect(await get("guarded?status=Open")).toEqual(ANY_OF_REQUIRED);
    expect(await get("guarded?status=Open&from=")).toEqual(ANY_OF_REQUIRED);
    expect(statusAndBody(await post(url, "/v1/shop/guarded", { status: "Open", to: null }, { key }))).toEqual(
      ANY_OF_REQUIRED,
    );
  });

  it.each(["from=2024-01-04", "to=2024-01-01", "from=2024-01-01&to=2024-01-05&status=Open"])(
    "is content with any one of them: ?%s",
    async (search) => {
      expect((await get(`guarded?${search}`))[0]).toBe(200);
    },
  );

  it("reports a wrong value before a missing one", async () => {
    expect(await get("guarded?status=Open&from=soon")).toEqual(
      refusal(400, "Parameter 'from' must be a date in YYYY-MM-DD format."),
    );
  });
});

it("an endpoint that allows unfiltered requests answers without a parameter", async () => {
  expect(idsOf((await sendRequest(url, "/v1/shop/filters", { key })).text)).toEqual([1, 2, 3, 4, 5]);
});
