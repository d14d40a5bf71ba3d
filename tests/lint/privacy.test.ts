import { describe, expect, it } from "vitest";
import { plainText } from "../../generator/report/report.js";
import { DAILY, project, type TestNode } from "./project.js";
import { found, lintJson } from "./run.js";

const tagged = (tier: string): readonly string[] => DAILY.with(2, tier).with(4, "granularity:latest");

/** An endpoint of tier1 over a model with this `meta`. */
function over(meta: Readonly<Record<string, unknown>>, tier = "tier1"): unknown {
  return project({
    visits: { tags: tagged(tier), columns: ["visits"], parents: ["people"] },
    people: { meta },
  });
}

const PRIVATE = ["private-data $.depends_on.nodes"];

describe("a mark of privacy", () => {
  it.each([true, "yes", "internal", "tier2", "Premium", "secret", 3, ["email"], { names: true }])(
    "of %j keeps data from tier1",
    (mark) => {
      expect(found(over({ contains_pii: mark }))).toEqual(PRIVATE);
    },
  );

  it.each([false, null, 0, "", "no", " False ", "none", [], "public", "tier0", "tier1", "Partner"])(
    "of %j keeps nothing from tier1",
    (mark) => {
      expect(found(over({ contains_pii: mark }))).toEqual([]);
    },
  );

  it("keeps nothing from the highest tier", () => {
    expect(found(over({ privacy_tier: "internal" }, "tier3"))).toEqual([]);
  });

  it("counts in `meta` as in `config.meta`", () => {
    const visits: TestNode = { tags: tagged("tier1"), columns: ["visits"], parents: ["people"] };
    const people: TestNode = { more: { meta: { contains_pii: true } } };
    expect(found(project({ visits, people }))).toEqual(PRIVATE);
  });

  it("may be dbt's `classifiers`", () => {
    const json = (classifiers: unknown) =>
      project({
        visits: { tags: tagged("tier1"), columns: ["visits"], parents: ["people"] },
        people: { more: { classifiers } },
      });
    expect(found(json(["email_address"]))).toEqual(PRIVATE);
    expect(found(json([]))).toEqual([]);
  });

  it("counts on the endpoint's own model", () => {
    const visits = { tags: tagged("tier1"), columns: ["visits"], meta: { contains_pii: true } };
    expect(found(project({ visits }))).toEqual(["private-data $.config.meta.contains_pii"]);
  });

  it("on a column counts where the endpoint has that column", () => {
    const marked = { email: { name: "email", config: { meta: { contains_pii: true } } } };
    const json = (columns: readonly string[]) =>
      project({
        visits: { tags: tagged("tier1"), columns, parents: ["people"] },
        people: { more: { columns: marked } },
      });
    expect(found(json(["email"]))).toEqual(PRIVATE);
    expect(found(json(["visits"]))).toEqual([]);
  });

  it("is reported at its strictest where a model has several", () => {
    const [finding] = lintJson(over({ contains_pii: "tier2", privacy_tier: "internal" })).findings;
    expect(plainText(finding!.message)).toContain('restricts to "tier3" and above');
  });

  it("on a key that is not configured has no effect", () => {
    expect(found(over({ sensitivity: "high" }))).toEqual([]);
  });
});

describe("a private column", () => {
  const people = (mark: object): TestNode => ({ more: { columns: { email: { name: "email", ...mark } } } });
  const PII = people({ meta: { pii: true } });
  const star = (from: string) => ({ compiled_code: `select * from analytics.${from}` });
  const visits = (node: TestNode): TestNode => ({
    tags: tagged("tier1"),
    api: { allow_unfiltered: true },
    ...node,
  });
  const privateRules = (nodes: Parameters<typeof project>[0]): readonly string[] =>
    found(project(nodes)).filter((finding) => finding.startsWith("private-data"));

  it.each([
    ["meta: {pii: true}", PII],
    ["config.meta: {contains_pii: true}", people({ config: { meta: { contains_pii: true } } })],
    ["the tag pii", people({ tags: ["pii"] })],
    ["the tag PII in config", people({ config: { tags: ["PII"] } })],
  ])("marked by %s is found behind `select *` without a catalog", (_, marked) => {
    const nodes = { visits: visits({ parents: ["people"], more: star("people") }), people: marked };
    expect(privateRules(nodes)).toEqual(PRIVATE);
  });

  it.each(["seed", "snapshot", "source"] as const)("of a %s is found behind a view", (kind) => {
    const id = kind === "source" ? "source.shop.raw.people" : `${kind}.shop.people`;
    const marked = {
      resource_type: kind,
      name: "people",
      columns: { email: { name: "email", meta: { pii: true } } },
    };
    const middle: TestNode = { columns: ["visits"], parents: [id], more: star("people") };
    const nodes = { visits: visits({ parents: ["middle"], more: star("middle") }), middle };
    const manifest = project(nodes, "postgres", kind === "source" ? {} : { [id]: marked });
    const sources = kind === "source" ? { [id]: { ...marked, source_name: "raw" } } : {};
    const rules = found({ ...manifest, sources }).filter((finding) => finding.startsWith("private-data"));
    expect(rules).toEqual(PRIVATE);
  });

  it("is found through models that list other columns only", () => {
    const middle: TestNode = { columns: ["visits"], parents: ["people"], more: star("people") };
    const nodes = { visits: visits({ parents: ["middle"], more: star("middle") }), middle, people: PII };
    expect(privateRules(nodes)).toEqual(PRIVATE);
  });

  it.each([
    ["md5(email) as email", []],
    ["sha256(lower(email)::bytea)::text as visits, md5(p.email) as email", PRIVATE],
    ["encode(email, 'hex') as email", PRIVATE],
    ["md5(email) as email, email as visits", PRIVATE],
  ])("below `%s`: %j", (columns, expected) => {
    const middle: TestNode = {
      columns: ["email"],
      parents: ["people"],
      more: { compiled_code: `select ${columns} from analytics.people p` },
    };
    const nodes = {
      visits: visits({ columns: ["email"], parents: ["middle"], more: star("middle") }),
      middle,
      people: PII,
    };
    expect(privateRules(nodes)).toEqual(expected);
  });

  it("is found once per endpoint, however many nodes above mark it", () => {
    const marked = (parent: string): TestNode => ({
      ...PII,
      parents: [parent],
      more: { ...PII.more, ...star(parent) },
    });
    const nodes = {
      visits: visits({ parents: ["c"], more: star("c") }),
      c: marked("b"),
      b: marked("a"),
      a: PII,
    };
    expect(privateRules(nodes)).toEqual(PRIVATE);
  });

  it.each([{ PII: true }, { sensitive: true }, { Classification: "confidential" }])(
    "is marked by %j",
    (meta) => {
      const nodes = {
        visits: visits({ parents: ["people"], more: star("people") }),
        people: people({ meta }),
      };
      expect(privateRules(nodes)).toEqual(PRIVATE);
    },
  );

  it("is not marked by a classification as public", () => {
    const open = people({ meta: { classification: "public" } });
    expect(
      privateRules({ visits: visits({ parents: ["people"], more: star("people") }), people: open }),
    ).toEqual([]);
  });

  it("ends at a model whose SQL does not name it", () => {
    const middle: TestNode = {
      parents: ["people"],
      more: { compiled_code: "select count(1) as n from analytics.people" },
    };
    const nodes = { visits: visits({ parents: ["middle"], more: star("middle") }), middle, people: PII };
    expect(privateRules(nodes)).toEqual([]);
  });

  it("is not served by a model that declares its columns without it", () => {
    const nodes = {
      visits: visits({ columns: ["n"], parents: ["people"], more: star("people") }),
      people: PII,
    };
    expect(privateRules(nodes)).toEqual([]);
  });

  it("is not marked by what dbt 2 copies into it from its model: that is one finding", () => {
    const meta = { pii: true };
    const copied = { meta, config: { meta } };
    const nodes = {
      visits: visits({ parents: ["people"], more: star("people") }),
      people: { meta, more: { meta, ...people(copied).more } },
    };
    expect(privateRules(nodes)).toEqual(PRIVATE);
  });

  it("marks the whole model by a tag on it", () => {
    const nodes = { visits: visits({ columns: ["n"], parents: ["people"] }), people: { tags: ["pii"] } };
    expect(privateRules(nodes)).toEqual(PRIVATE);
  });
});

describe("a higher tier", () => {
  const chainOf = (last: TestNode): unknown =>
    project({
      visits: { tags: tagged("tier1"), columns: ["visits"], parents: ["b"] },
      b: { parents: ["a"] },
      a: last,
    });

  it("is found through models without a tier, with the way", () => {
    const [finding] = lintJson(chainOf({ tags: ["tier3"] })).findings;
    expect(plainText(finding!.message)).toContain('"tier3": "a" → "b" → "visits".');
  });

  it.each([
    ["of the same tier", ["tier1"]],
    ["of a lower tier", ["tier0"]],
    ["without a tier", []],
  ])("is not seen in a model %s", (_, tags) => {
    expect(found(chainOf({ tags }))).toEqual([]);
  });

  it("is the default one for an API model without a tier tag, and for that alone", () => {
    const untagged = DAILY.filter((tag) => tag !== "tier1");
    const rules = (tags: readonly string[]) =>
      lintJson(chainOf({ tags, columns: ["visits", "day"] }), "tier2").findings.map(({ rule }) => rule);
    expect(rules(untagged)).toEqual(["missing-tier-tag", "higher-tier-data", "unlimited-response"]);
    expect(rules(untagged.filter((tag) => tag !== "production"))).toEqual(["forgotten-tag"]);
  });

  it("is reported once, by the shortest path, however many paths there are", () => {
    const json = project({
      visits: { tags: tagged("tier1"), columns: ["visits"], parents: ["b", "c"] },
      b: { parents: ["c"] },
      c: { parents: ["a"] },
      a: { tags: ["tier2"], parents: ["visits"] },
    });
    const ways = lintJson(json).findings.map(({ message }) => plainText(message));
    expect(ways).toHaveLength(1);
    expect(ways[0]).toContain('"a" → "c" → "visits"');
  });
});
