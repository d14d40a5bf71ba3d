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

  it("two edits away it is a warning", () => {
    const { skipped, words } = saidOf(node({ rootewrigth: ROWS }));
    expect(skipped).toBe(false);
    expect(words).toContain('The key "rootewrigth" is not "routewright"');
  });

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
