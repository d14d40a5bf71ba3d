import { describe, expect, it } from "vitest";
import { TIERS } from "../../runtime/core/model/tier.js";
import { catalogueFrom, catalogueOfNode, onlySkipped, pathsOf, told } from "./catalogues.js";

const SYSTEM_TAGS = [
  "view",
  "table",
  "incremental",
  "staging",
  "intermediate",
  "daily",
  "weekly",
  "monthly",
  "hourly",
  "latest",
  "in_ranges",
  "last_30d",
  "last_7d",
  "all_time",
];

function pathOf(...tags: string[]): string | undefined {
  return pathsOf(catalogueFrom([{ name: "a", tags }]))[0];
}

it.each([
  ["with `production` and `api:`", ["production", "api:a"], 1],
  ["without `production`", ["api:a", "bridges"], 0],
  ["without `api:`", ["production", "bridges"], 0],
  ["with `Production`, which is another tag", ["Production", "api:a"], 0],
  ["without tags", [], 0],
])("a model is published %s", (_, tags, count) => {
  const { entries, skipped } = catalogueFrom([{ name: "a", tags }]);
  expect(entries.length + skipped.length).toBe(count);
});

describe("the path", () => {
  it.each([
    ["the first tag that is nothing else", ["api:r", "production", "bridges", "other"], "/v1/bridges/r"],
    ["lower-cased", ["production", "RevShare", "api:r"], "/v1/revshare/r"],
    ["`general` where no tag is left", ["production", "tier1", "api:r", "owner:me"], "/v1/general/r"],
    ["`general` among system tags alone", ["production", ...SYSTEM_TAGS, ...TIERS, "api:r"], "/v1/general/r"],
  ])("has as category %s", (_, tags, path) => {
    expect(pathOf(...tags)).toBe(path);
  });

  it.each([...SYSTEM_TAGS, ...TIERS, "VIEW", "Daily", "Table"])(
    "does not take the tag %s for a category",
    (tag) => {
      expect(pathOf("production", tag, "bridges", "api:r")).toBe("/v1/bridges/r");
    },
  );

  it.each([
    ["keeps the resource as it is", ["api:NetFlow.v2-x"], "/v1/c/NetFlow.v2-x"],
    ["takes a resource without the space behind the colon", ["api: flow"], "/v1/c/flow"],
    ["takes the first of several resources", ["api:first", "api:second"], "/v1/c/first"],
    [
      "takes the first granularity, lower-cased",
      ["api:r", "granularity:Daily", "granularity:weekly"],
      "/v1/c/r/daily",
    ],
    ["takes any granularity", ["api:r", "granularity:rolling_180d"], "/v1/c/r/rolling_180d"],
    [
      "appends the first window, lower-cased",
      ["api:r", "granularity:last_7d", "window:7D", "window:30d"],
      "/v1/c/r/last_7d/7d",
    ],
    [
      "leaves out a window that says what the granularity says",
      ["api:r", "granularity:last_7d", "window:LAST_7D"],
      "/v1/c/r/last_7d",
    ],
    ["has a window without a granularity", ["api:r", "window:7d"], "/v1/c/r/7d"],
  ])("%s", (_, tags, path) => {
    expect(pathOf("production", "c", ...tags)).toBe(path);
  });

  it.each([
    ["api:a/b", '"api:a/b" cannot be a path segment.'],
    ["api:..", '"api:.." cannot be a path segment.'],
    ["api:.", '"api:." cannot be a path segment.'],
    ["api:", '"api:" has no value.'],
    ["api:naïve", '"api:naïve" cannot be a path segment.'],
    ["api:a b", '"api:a b" cannot be a path segment.'],
    ["api:a%2e", '"api:a%2e" cannot be a path segment.'],
    ["api:a?b", '"api:a?b" cannot be a path segment.'],
    ["api:a\nb", String.raw`"api:a\nb" cannot be a path segment.`],
    [`api:${"x".repeat(241)}`, `"api:${"x".repeat(75)}… gives a path segment of 241 characters.`],
    [`api:${"X".repeat(121)}`, `"api:${"X".repeat(75)}… gives a path segment of 121 characters.`],
  ])("is refused with the tag %j", (tag, message) => {
    const catalogue = catalogueFrom([{ name: "a", tags: ["production", "c", tag] }]);
    expect(catalogue.entries).toEqual([]);
    expect(told(onlySkipped(catalogue).problems)).toEqual([`$.tags: The tag ${message}`]);
  });

  it("says what to do about an empty tag", () => {
    const { problems } = onlySkipped(catalogueFrom([{ name: "a", tags: ["production", "", "api:a"] }]));
    expect(problems).toMatchObject([{ message: 'The tag "" has no value.', hint: "Remove it." }]);
  });

  it("may be as long as a file name", () => {
    expect(pathOf("production", "c", `api:${"x".repeat(240)}`)).toBe(`/v1/c/${"x".repeat(240)}`);
    const tags = ["production", "c", `api:${"x".repeat(240)}`, "window:7d"];
    const { problems } = onlySkipped(catalogueFrom([{ name: "a", tags }]));
    expect(problems).toMatchObject([
      { message: expect.stringMatching(/^The path "\/v1\/c\/x+… is too long for a file name\.$/) },
    ]);
  });

  it("is never one of the service's own", () => {
    for (const [path, ...more] of [
      ["manifest/refresh", "api:manifest", "granularity:refresh"],
      ["catalogue", "api:catalogue"],
      ["anything", "api:anything"],
    ]) {
      const { problems } = onlySkipped(
        catalogueFrom([{ name: "a", tags: ["production", "System", ...more] }]),
      );
      expect(told(problems)).toEqual([
        `$.tags: The path /v1/system/${path ?? ""} belongs to the service itself.`,
      ]);
    }
  });

  it("never ends like a format of another path", () => {
    for (const [path, ...more] of [
      ["small.ndjson", "api:small.ndjson"],
      ["small.CSV", "api:small.CSV"],
      ["small.parquet", "api:small.parquet"],
      ["small.arrows", "api:small.arrows"],
      ["small/daily.json", "api:small", "granularity:daily.json"],
    ]) {
      const { problems } = onlySkipped(catalogueFrom([{ name: "a", tags: ["production", "c", ...more] }]));
      expect(told(problems)[0]).toMatch(`$.tags: The path /v1/c/${path ?? ""} ends in .`);
    }
    expect(pathOf("production", "c", "api:small.xlsx")).toBe("/v1/c/small.xlsx");
  });
});

describe("the tier", () => {
  const tierOf = (tags: readonly string[], defaultTier?: "tier2"): string | undefined =>
    catalogueFrom([{ name: "a", tags: ["production", "api:a", ...tags] }], defaultTier && { defaultTier })
      .entries[0]?.tier;

  it("is tier0 without one, or the default that is set", () => {
    expect(tierOf([])).toBe("tier0");
    expect(tierOf([], "tier2")).toBe("tier2");
    expect(tierOf(["tier0"], "tier2")).toBe("tier0");
  });
});

describe("tags", () => {
  const configured = { config: { tags: ["production", "configured", "api:a"] } };

  it("are those of the node", () => {
    const node = { tags: ["production", "own", "api:a"], ...configured };
    expect(pathsOf(catalogueOfNode(node))).toEqual(["/v1/own/a"]);
  });

  it.each([
    ["absent", {}],
    ["empty", { tags: [] }],
  ])("are those of its configuration where its own are %s", (_, tags) => {
    expect(pathsOf(catalogueOfNode({ ...tags, ...configured }))).toEqual(["/v1/configured/a"]);
  });
});

describe("a model whose tier is uncertain is skipped", () => {
  const tags = ["production", "c", "api:a"];
  const skippedWith = (node: object): string[] => {
    return told(onlySkipped(catalogueOfNode({ tags, ...node })).problems);
  };

  it.each([
    [["tier3"], "[…]"],
    [null, "null"],
    [{ tier: 3 }, "{…}"],
    [3, "3"],
  ])("with %j among its tags", (tag, shown) => {
    expect(skippedWith({ tags: [...tags, tag] })).toContain(`$.tags[3]: ${shown} is not a tag.`);
    expect(skippedWith({ tags: [], config: { tags: [...tags, tag] } })).toContain(
      `$.config.tags[3]: ${shown} is not a tag.`,
    );
  });

  it("with tags that are no list", () => {
    expect(skippedWith({ tags: { tier3: true }, config: { tags } })).toContain(
      "$.tags: {…} is not a list of tags.",
    );
    expect(skippedWith({ config: { tags: 7 } })).toContain("$.config.tags: 7 is not a list of tags.");
  });

  it("with another tier in config.tags than in its tags", () => {
    expect(skippedWith({ config: { tags: [...tags, "tier3"] } })).toEqual([
      "$.config.tags: The tags name no tier, config.tags name tier3.",
    ]);
    expect(skippedWith({ tags: [...tags, "tier0"], config: { tags: [...tags, "tier3"] } })).toEqual([
      "$.config.tags: The tags name tier0, config.tags name tier3.",
    ]);
    expect(skippedWith({ config: { tags: [...tags, "teir3"] } })).toContain(
      '$.tags: The tag "teir3" is not a tier, but looks like one.',
    );
  });

  it("with a tier after a name", () => {
    expect(skippedWith({ tags: [...tags, "tier:tier3"] })[0]).toContain('The tag "tier:tier3" is not a tier');
  });
});
