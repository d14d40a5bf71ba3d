/**
 * A misspelt key or tag of ours opens nothing, drops no isolation and moves no path without a word. `NEAR_RUNS=100000` tries more
 * random edits.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { META_ROUTEWRIGHT } from "../../generator/catalogue/settings/meta-routewright.js";
import { PRIVATE_KEYS } from "../../generator/manifest/node-meta.js";
import { catalogueOfNode, onlySkipped, told } from "./catalogues.js";

const RUNS = Number(process.env["NEAR_RUNS"] ?? 400);

const TAGS = ["production", "shop", "api:orders", "granularity:daily", "window:7d", "tier2"];
const ROWS = { rows: { column: "org_id", equals: "org" } };
const COLUMNS = { org_id: { name: "org_id", data_type: "text" }, at: { name: "at", data_type: "timestamp" } };

const node = (meta: object, more: object = {}): object => ({
  tags: TAGS,
  columns: COLUMNS,
  config: { meta },
  ...more,
});

/** What the catalogue says of the model: its problems, its warnings. */
function saidOf(of: object): { skipped: boolean; words: string } {
  const { skipped, warnings } = catalogueOfNode(of);
  const problems = skipped.flatMap((each) => each.problems);
  return {
    skipped: skipped.length > 0,
    words: [...problems, ...warnings].map(({ path, message }) => `${path}: ${message}`).join("\n"),
  };
}

describe("a namespace that is nearly ours skips the model", () => {
  it.each([
    "routewrigth",
    "Routewright",
    "ROUTEWRIGHT",
    "route_wright",
    "route-wright",
    "+routewright",
    "routwright",
    "routewrightt",
    "routewrıght",
    "rоutеwright",
    "ｒｏｕｔｅｗｒｉｇｈｔ",
    "apis",
    "Api",
    "API",
    "a_pi",
    "aapi",
    "pai",
    "арі",
    "ap1",
  ])("%s", (key) => {
    const value = key.length > 5 ? ROWS : { allow_unfiltered: true };
    for (const of of [node({ [key]: value }), { ...node({}), meta: { [key]: value } }]) {
      const { reason, problems } = onlySkipped(catalogueOfNode(of));
      expect(reason).toBe("invalid");
      expect(told(problems)[0]).toContain(`The key ${JSON.stringify(key)} is not `);
    }
  });

  it.each([
    "app",
    "kpi",
    "apm",
    "ai",
    "ci",
    "owner",
    "route",
    "writer",
    "dbt_expectations",
    "pipeline",
    "row",
  ])("but %s is another's", (key) => {
    expect(saidOf(node({ [key]: ROWS }))).toEqual({ skipped: false, words: "" });
  });

  it.each([
    ...["riutewright", "eoutewright", "toutewright", "routewrigjt", "routewtight", "rourewright"],
    ...["routewrite", "routwright", "rootwright", "routeright", "routewrit", "rutewright"],
    ...["ROUTEWRIGHT", "RouteWright", "routeWright", "ROUTE_WRITE", "Routewrigth"],
    ...["route-wright", "route_wright", "route.wright", "route wright", "-routewright", "+route-wrigth"],
    ...["rotuewright", "routewrgiht", "roteuwright", "uortewright", "routewirght", "rootewrigth"],
    ...["routerwright"],
  ])("up to three edits away: %s", (key) => {
    expect(saidOf(node({ [key]: ROWS }))).toMatchObject({ skipped: true });
    expect(saidOf(node({}, { config: { [key]: ROWS } }))).toMatchObject({ skipped: true });
  });

  it.each(["playwright", "copyright", "wright", "cartwright", "right", "rewrite"])(
    "further away it is another's: %s",
    (key) => {
      expect(saidOf(node({ [key]: ROWS }))).toEqual({ skipped: false, words: "" });
    },
  );

  it("at the config's level, under a misspelt meta, or as no object it is named too", () => {
    for (const of of [
      node({}, { config: { routewright: ROWS } }),
      node({}, { config: { mata: { routewright: ROWS } } }),
      node({ routewright: [ROWS] }),
      node({}, { columns: { at: { ...COLUMNS.at, config: { meta: { routewrigth: {} } } } } }),
    ])
      expect(saidOf(of)).toMatchObject({ skipped: true });
    expect(saidOf(node({ routewright: null })).skipped).toBe(false);
  });
});

const API = { api: { allow_unfiltered: true } };
const OWN = ROWS.rows;

describe("a setting one level off", () => {
  const inColumn = (more: object): object =>
    node(API, { columns: { ...COLUMNS, at: { ...COLUMNS.at, ...more } } });

  it.each<[string, object]>([
    ["rows beside routewright", node({ ...API, rows: OWN })],
    ["rows beside routewright, in meta", { ...node({}), meta: { ...API, rows: OWN } }],
    ["rows as a text", node({ ...API, rows: "org_id" })],
    ["Rows", node({ ...API, Rows: { column: "org_id" } })],
    ["a misspelt rows", node({ ...API, rosw: OWN })],
    ["rows beside meta", node(API, { config: { meta: API, rows: OWN } })],
    ["rows in api", node({ api: { ...API.api, rows: OWN } })],
    ["rows one level down", node({ ...API, routewright: { routewright: ROWS } })],
    ["rows in a namespace of the other", node({ ...API, routewright: { api: ROWS } })],
    ["rows in the api's namespace", node({ api: { ...API.api, routewright: ROWS } })],
    ["meta in meta", node({ ...API, meta: { routewright: ROWS } })],
    ["rows of a column", inColumn({ meta: { rows: OWN } })],
    ["rows of a column's namespace", inColumn({ meta: { routewright: ROWS } })],
    ["rows beside the meta of a column", inColumn({ rows: OWN })],
    ["an aggregate that serves no rows", node({ ...API, aggregate: { rows: false } })],
    ["allow_unfiltered: false beside api", node({ allow_unfiltered: false })],
    ["require_any_of beside api", node({ ...API, require_any_of: ["day"] })],
    ["require_any_of in routewright", node({ ...API, routewright: { require_any_of: ["day"] } })],
    ["a mark in routewright", node({ ...API, routewright: { pii: true } })],
    ["a mark in api", node({ api: { ...API.api, pii: true } })],
    ["a mark beside the meta of a column", inColumn({ pii: true })],
    ["a mark beside meta", node(API, { config: { meta: API, sensitive: true } })],
    ["a mark in a column's routewright", inColumn({ meta: { routewright: { pii: true } } })],
  ])("whose loss opens data is an error: %s", (_, of) => {
    expect(saidOf(of)).toMatchObject({ skipped: true });
  });

  it.each<[string, object]>([
    ["cursor", { cursor: true }],
    ["numbers", { numbers: "string" }],
    ["max_age", { max_age: 300 }],
    ["methods", { methods: ["POST"] }],
    ["sortable_fields", { sortable_fields: ["at"] }],
  ])("whose loss opens nothing is a warning: %s", (key, more) => {
    expect(saidOf(node({ ...API, ...more }))).toEqual({
      skipped: false,
      words: `$.config.meta.${key}: Nothing reads the key "${key}" here; ignored.`,
    });
  });

  it.each<[string, object]>([
    ["category", { category: "shop" }],
    ["title", { title: "Orders" }],
    ["timezone", { timezone: "UTC" }],
    ["lint", { lint: {} }],
    ["rows", { rows: 1200 }],
    ["row", { row: "one" }],
    ["cursor", { cursor: "daily_at" }],
    ["filters", { filters: { a: 1 } }],
    ["pii", { pii: false }],
  ])("but %s may be another's", (_, more) => {
    expect(saidOf(node({ ...API, ...more }))).toEqual({ skipped: false, words: "" });
  });
});

describe("null is absent", () => {
  it.each<[string, object]>([
    ["tags beside config.tags", node(API, { config: { meta: API, tags: null } })],
    ["meta", node(API, { meta: null })],
    ["config.meta", { ...node({}), config: { meta: null } }],
    ["config", { ...node({}), config: null }],
    ["routewright", node({ ...API, routewright: null })],
    ["columns", node(API, { columns: null })],
    ["a column's tags and meta", node(API, { columns: { at: { ...COLUMNS.at, tags: null, meta: null } } })],
    ...Object.keys(META_ROUTEWRIGHT.model)
      .filter((key) => key !== "rows")
      .map((key): [string, object] => [`routewright.${key}`, node({ ...API, routewright: { [key]: null } })]),
    ...["methods", "parameters", "sort", "sortable_fields", "pagination"].map((key): [string, object] => [
      `api.${key}`,
      node({ api: { ...API.api, [key]: null } }),
    ]),
    ...["numbers", "synonyms", "timezone"].map((key): [string, object] => [
      `a column's ${key}`,
      node(API, { columns: { at: { ...COLUMNS.at, meta: { routewright: { [key]: null } } } } }),
    ]),
  ])("%s", (_, of) => {
    expect(saidOf(of)).toEqual({
      skipped: false,
      words:
        _ === "columns"
          ? "$.columns: The model declares no columns: every column of its relation is served."
          : "",
    });
  });

  it.each<[string, object]>([["tags", node(API, { tags: null, config: { meta: API, tags: TAGS } })]])(
    "%s, where the other place has them",
    (_, of) => {
      expect(catalogueOfNode(of)).toMatchObject({ skipped: [], entries: [{ tier: "tier2" }] });
    },
  );

  it.each<[string, object]>([
    ["api", node({ api: null })],
    ["rows", node({ ...API, routewright: { rows: null } })],
    ["rows over rows", { ...node({ ...API, routewright: { rows: null } }), meta: { routewright: ROWS } }],
    ["require_any_of", node({ api: { ...API.api, require_any_of: null } })],
    ["exclude_from_api", node({ api: { ...API.api, exclude_from_api: null } })],
    [
      "aggregate.rows",
      node({ ...API, routewright: { aggregate: { measures: { n: { agg: "count" } }, rows: null } } }),
    ],
    ["a mark", node({ ...API, pii: null })],
    ["a mark of a column", node(API, { columns: { at: { ...COLUMNS.at, meta: { pii: null } } } })],
  ])("but where it would open what a value closed: %s", (_, of) => {
    expect(saidOf(of)).toMatchObject({ skipped: true });
  });
});

describe("a key that is nearly ours", () => {
  it.each(["rowz", "row", "Rows", "r_ows", "crusor", "filter", "Number", "exclude_from_api"])(
    "skips the model inside meta.routewright: %s",
    (key) => {
      expect(saidOf(node({ routewright: { [key]: true } })).skipped).toBe(true);
    },
  );

  it.each(["exclude_from_ap1", "exclude-from-api", "Exclude_From_Api", "exclude_form_api"])(
    "skips a model that it keeps out: %s",
    (key) => {
      expect(saidOf(node({ api: { allow_unfiltered: true, [key]: true } })).skipped).toBe(true);
    },
  );

  it("skips a model that says exclude_from_api elsewhere", () => {
    expect(saidOf(node({ exclude_from_api: true })).skipped).toBe(true);
  });

  it.each(["piis", "p_i_i", "ppii", "ipi", "sensitiv", "sensitve", "privacy-tier", "classificaton", "pіі"])(
    "skips a model, and a model with a column, that it marks as private: %s",
    (key) => {
      expect(saidOf(node({ [key]: true })).skipped).toBe(true);
      const columns = { ...COLUMNS, at: { ...COLUMNS.at, meta: { [key]: true } } };
      expect(saidOf(node({}, { columns })).skipped).toBe(true);
    },
  );

  it("and a tag that is nearly pii, on the model or a column", () => {
    expect(saidOf(node({}, { tags: [...TAGS, "piis"] })).skipped).toBe(true);
    expect(saidOf(node({}, { columns: { at: { ...COLUMNS.at, tags: ["p-i-i"] } } })).skipped).toBe(true);
    expect(saidOf(node({ PII: true }, { tags: [...TAGS, "PII"] })).skipped).toBe(false);
  });
});

describe("a tag that is nearly a part of the path", () => {
  it.each([
    "granularty:daily",
    "Granularity:daily",
    "granularity=daily",
    "granularity :daily",
    "granularity-daily",
    "granularitydaily",
    "windows:7d",
    "window=7d",
    "window_7d",
    "Api:orders",
    "apis:orders",
  ])("skips the model: %s", (tag) => {
    const { problems } = onlySkipped(catalogueOfNode(node({}, { tags: [...TAGS.slice(0, 3), tag] })));
    expect(told(problems).join()).toContain(
      `The tag ${JSON.stringify(tag)} is not a \`${/^g/i.test(tag) ? "granularity" : /^w/i.test(tag) ? "window" : "api"}:\` tag`,
    );
  });

  it.each(["app:orders", "kpi:orders", "owner:me", "windows", "window_functions", "team=growth"])(
    "but %s is another's",
    (tag) => {
      expect(saidOf(node({}, { tags: [...TAGS, tag] })).words).toBe("");
    },
  );

  it("and a category that is nearly a system tag is named", () => {
    expect(saidOf(node({}, { tags: ["production", "incremantal", "api:orders"] })).words).toContain(
      'looks like "incremental"',
    );
  });
});

/** One edit of a text, of the kinds that count for a name of its length. */
function edited(name: string, isOurs: boolean): fc.Arbitrary<string> {
  const at = fc.nat(name.length - 1);
  const letter = fc.nat(25).map((i) => "abcdefghijklmnopqrstuvwxyz".charAt(i));
  const shapes = [
    at.map((i) => name.slice(0, i) + (name[i] ?? "").toUpperCase() + name.slice(i + 1)),
    fc
      .tuple(at, fc.constantFrom("_", "-", " ", "."))
      .map(([i, mark]) => name.slice(0, i) + mark + name.slice(i)),
    fc.constant(name.replaceAll(/[aceiops]/g, (each) => CYRILLIC[each] ?? each)),
    at.map((i) => name.slice(0, i) + (name[i] ?? "") + name.slice(i)),
    fc.constant(`${name}s`),
    at.map((i) => name.slice(0, i) + (name[i + 1] ?? "") + (name[i] ?? "") + name.slice(i + 2)),
  ];
  const edits = [
    at.map((i) => name.slice(0, i) + name.slice(i + 1)),
    fc.tuple(at, letter).map(([i, other]) => name.slice(0, i) + other + name.slice(i + 1)),
    fc.tuple(at, letter).map(([i, other]) => name.slice(0, i) + other + name.slice(i)),
  ];
  return fc.oneof(...shapes, ...(isOurs || name.length >= 6 ? edits : [])).filter((text) => text !== name);
}

const CYRILLIC: Readonly<Record<string, string>> = { a: "а", c: "с", e: "е", i: "і", o: "о", p: "р", s: "ѕ" };

describe("no random edit passes without a word", () => {
  const check = (names: readonly string[], isOurs: boolean, said: (key: string, name: string) => boolean) =>
    fc.assert(
      fc.property(
        fc.constantFrom(...names).chain((name) => fc.tuple(fc.constant(name), edited(name, isOurs))),
        ([name, key]) => names.includes(key) || said(key, name),
      ),
      { numRuns: RUNS },
    );

  it("of a namespace", () => {
    check(["routewright", "api"], false, (key) => saidOf(node({ [key]: ROWS })).skipped);
  });

  it("of a setting of a model or a column", () => {
    const model = Object.keys(META_ROUTEWRIGHT.model);
    check(model, true, (key) => saidOf(node({ routewright: { [key]: ROWS.rows } })).skipped);
    const column = Object.keys(META_ROUTEWRIGHT.column);
    const of = (key: string) => ({ at: { ...COLUMNS.at, meta: { routewright: { [key]: "UTC" } } } });
    check(column, true, (key) => saidOf(node({}, { columns: of(key) })).skipped);
  });

  it("of a mark of private data", () => {
    // In another letter case it is read.
    const isRead = (key: string): boolean => PRIVATE_KEYS.includes(key.toLowerCase());
    check(PRIVATE_KEYS, false, (key) => isRead(key) || saidOf(node({ [key]: true })).skipped);
  });

  it("of a tag that names the path or the tier", () => {
    check(TAGS, false, (tag, name) => {
      const tags = TAGS.map((each) => (each === name ? tag : each));
      const { entries, skipped, warnings } = catalogueOfNode(node({}, { tags }));
      const [entry] = entries;
      const isOpened = entry !== undefined && entry.tier !== "tier2";
      // A value is the author's word, as is the category: another one is another path.
      const isOwnWord =
        name === "shop" || (/^\w+:/.test(name) && tag.startsWith(`${name.split(":")[0] ?? ""}:`));
      return !isOpened && (entry === undefined || isOwnWord || skipped.length + warnings.length > 0);
    });
  });
});
