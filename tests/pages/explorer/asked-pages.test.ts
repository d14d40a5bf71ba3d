/** The pages of a result: what the buttons ask for, and where the page's rows stand. */
import { describe, expect, it } from "vitest";
import type { CatalogueEndpoint } from "../../../runtime/pages/catalogue-body.js";
import {
  limitOf,
  nextPage,
  pageBefore,
  type Parameters,
  placeOf,
} from "../../../runtime/pages/explorer/api-request.js";
import { similarPaths } from "../../../runtime/pages/explorer/similar-paths.js";

const ENDPOINT = { pagination: { default_limit: 10 } } as unknown as CatalogueEndpoint;

describe("the page before", () => {
  it.each<[Parameters, ReturnType<typeof pageBefore>]>([
    [{ day: ["2026-01-01"] }, { skipped: 0, previous: null }],
    [{ offset: ["0"] }, { skipped: 0, previous: null }],
    [{ offset: ["1"] }, { skipped: 1, previous: {} }],
    [{ offset: ["10"] }, { skipped: 10, previous: {} }],
    [{ offset: ["11"] }, { skipped: 11, previous: { offset: ["1"] } }],
    [
      { offset: ["30"], limit: ["20"] },
      { skipped: 30, previous: { limit: ["20"], offset: ["10"] } },
    ],
    [
      { cursor: ["c"], limit: ["20"] },
      { skipped: null, previous: { limit: ["20"] } },
    ],
  ])("of %j is %j", (parameters, before) => {
    expect(pageBefore(ENDPOINT, parameters)).toEqual(before);
  });
});

describe("the page that follows", () => {
  it.each<[Parameters, string | null, number, Parameters]>([
    [{ limit: ["5"] }, null, 5, { limit: ["5"], offset: ["5"] }],
    [{ offset: ["5"] }, null, 3, { offset: ["8"] }],
    [{ offset: ["5"], day: ["x"] }, "c", 3, { day: ["x"], cursor: ["c"] }],
  ])("of %j, with cursor %s, after %i rows is %j", (parameters, cursor, rows, next) => {
    expect(nextPage(parameters, cursor, rows)).toEqual(next);
  });

  it("has as many rows as are asked for, else the endpoint's own", () => {
    expect([limitOf(ENDPOINT, { limit: ["3"] }), limitOf(ENDPOINT, {})]).toEqual([3, 10]);
  });
});

describe("rows stand at", () => {
  const more = { offset: ["10"] };
  it.each([
    ["one page of all", 1, { skipped: 0, total: null, previous: null, next: null }, "1 row"],
    ["the first page", 10, { skipped: 0, total: null, previous: null, next: more }, "1–10"],
    [
      "a page of a known total",
      10,
      { skipped: 1000, total: 1010, previous: more, next: null },
      "1,001–1,010 of 1,010",
    ],
    ["a page after a cursor", 10, { skipped: null, total: 25, previous: {}, next: more }, "10 rows of 25"],
    ["no rows after some", 0, { skipped: 10, total: 10, previous: more, next: null }, "0 rows of 10"],
    ["all rows, by their count", 10, { skipped: 0, total: 10, previous: null, next: more }, "10 rows"],
  ] as const)("%s", (_, rows, position, text) => {
    expect(placeOf(rows, position)).toBe(text);
  });
});

describe("paths like one that leads nowhere", () => {
  const PATHS = ["/v1/cards/spend", "/v1/bridges/volume", "/v1/bridges/netflow", "/v1/tokens/volume"];
  it.each([
    ["/v1/bridge/volumes", ["/v1/bridges/volume", "/v1/bridges/netflow"]],
    ["/v1/bridges/volume_daily", ["/v1/bridges/volume", "/v1/bridges/netflow", "/v1/tokens/volume"]],
    ["/v1/v2/of", []],
  ])("%s are %j", (path, similar) => {
    expect(similarPaths(path, PATHS)).toEqual(similar);
  });

  it("are five at most", () => {
    const many = Array.from({ length: 9 }, (_, at) => `/v1/volume/${String(at)}`);
    expect(similarPaths("/v1/volume", many)).toEqual(many.slice(0, 5));
  });
});
