import { describe, expect, it } from "vitest";
import { KEYS } from "../../support/service.js";
import { sendRequest, post, refusal, statusAndBody } from "../../support/http-client.js";
import { idsOf, serveOrders } from "../../support/orders.js";

const { url } = await serveOrders();
const key = KEYS.tier3;
const ids = async (search: string): Promise<readonly number[]> =>
  idsOf((await sendRequest(url, `/v1/shop/sorted${search}`, { key })).text);

describe("the order of the rows", () => {
  it.each([
    ["", [4, 5, 2, 3, 1]],
    ["?sort_by=amount", [3, 1, 5, 2, 4]],
    ["?sort_by=amount&sort_direction=DESC", [4, 5, 2, 3, 1]],
    ["?sort_by=id", [1, 2, 3, 4, 5]],
    ["?sort_by=id&sort_direction=asc", [1, 2, 3, 4, 5]],
    ["?sort_by=id&sort_direction=dEsC", [5, 4, 3, 2, 1]],
    ["?sort_by=%20day%20&sort_direction=%20desc", [5, 4, 3, 2, 1]],
    ["?sort_by=&sort_direction=", [4, 5, 2, 3, 1]],
    ["?sort_by=id&sort_direction=", [1, 2, 3, 4, 5]],
  ])("is the caller's, with the fixed one as tie-breaker: %s", async (search, expected) => {
    expect(await ids(search)).toEqual(expected);
  });

  it("can be requested in a body", async () => {
    const reply = await post(url, "/v1/shop/sorted", { sort_by: "amount", sort_direction: "asc" }, { key });
    expect(idsOf(reply.text)).toEqual([3, 1, 5, 2, 4]);
  });

  it.each([
    ["/v1/shop/sorted", { sort_by: "status" }, "'sort_by' must be one of: id, amount, day."],
    ["/v1/shop/sorted", { sort_by: "ID" }, "'sort_by' must be one of: id, amount, day."],
    ["/v1/shop/sorted", { sort_by: "id desc" }, "'sort_by' must be one of: id, amount, day."],
    ["/v1/shop/sorted", { sort_by: "id, day" }, "'sort_by' must be one of: id, amount, day."],
    ["/v1/shop/sorted", { sort_direction: "ASC" }, "'sort_direction' requires 'sort_by'."],
    ["/v1/shop/sorted", { sort_by: "id", sort_direction: "up" }, "'sort_direction' must be ASC or DESC."],
    [
      "/v1/shop/sorted",
      { sort_by: "id", sort_direction: "ASC NULLS FIRST" },
      "'sort_direction' must be ASC or DESC.",
    ],
    ["/v1/shop/filters", { sort_by: "id" }, "This endpoint does not support user-controlled sorting."],
    [
      "/v1/shop/filters",
      { sort_direction: "ASC" },
      "This endpoint does not support user-controlled sorting.",
    ],
  ])("is refused: %s %j", async (path, fields, detail) => {
    const search = new URLSearchParams(fields as Record<string, string>).toString();
    expect(statusAndBody(await sendRequest(url, `${path}?${search}`, { key }))).toEqual(refusal(400, detail));
    expect(statusAndBody(await post(url, path, fields, { key }))).toEqual(refusal(400, detail));
  });

  it("may be given once only", async () => {
    expect(statusAndBody(await sendRequest(url, "/v1/shop/sorted?sort_by=id&sort_by=day", { key }))).toEqual(
      refusal(400, "Parameter 'sort_by' expects a single value."),
    );
    expect(statusAndBody(await post(url, "/v1/shop/sorted", { sort_by: ["id"] }, { key }))).toEqual(
      refusal(400, "Parameter 'sort_by' expects a single value."),
    );
  });
});
