import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv } from "ajv";
import { KINDS } from "../../generator/diff/change-kinds.js";
import { describe, expect, it } from "vitest";
import { CONFIG_SCHEMA } from "../../generator/config-schema.js";
import { configProblems } from "../../generator/config-file.js";
import { withoutOwnKeywords } from "../../generator/manifest/schema-errors.js";
import { filesIn } from "../support/files.js";
import { manifestOf } from "../support/manifest.js";
import { ownFolder } from "../support/service.js";
import { GOOD, routewright } from "./run.js";

const CONFIG = {
  manifest: "target/manifest.json",
  out: "api",
  title: "Shop",
  defaultTier: "tier2",
  lint: { "missing-tier-tag": "off" },
  verify: { "unindexed-filter": "off" },
  diff: { severity: { "description-changed": "breaking" }, accept: "accepted.json" },
  minimumNoticeDays: 90,
};

const HEADLINE = "/v1/bridges/volume";

/** A folder with a manifest in `target/`, and a config file of this name. */
function configured(file: string, text: string): string {
  const folder = ownFolder();
  mkdirSync(join(folder, "target"));
  writeFileSync(join(folder, "target/manifest.json"), JSON.stringify(manifestOf([GOOD])));
  writeFileSync(join(folder, file), text);
  return folder;
}

/** What `routewright config` says: value by key. */
async function inForce(folder: string, variables: Readonly<Record<string, string>> = {}) {
  const { exit, out, err } = await routewright(folder, ["config", "--json"], variables);
  expect({ exit, err }).toEqual({ exit: 0, err: "" });
  const all = Object.entries(JSON.parse(out) as Record<string, { value: unknown }>);
  return Object.fromEntries(all.map(([key, { value }]) => [key, value]));
}

describe("a config file", () => {
  it.each([
    ["routewright.config.json", JSON.stringify(CONFIG)],
    [
      "routewright.config.yml",
      "manifest: target/manifest.json\nout: api\ntitle: Shop\ndefaultTier: tier2\nminimumNoticeDays: 90\nlint: { missing-tier-tag: 'off' }\nverify: { unindexed-filter: 'off' }\ndiff:\n  severity: { description-changed: breaking }\n  accept: accepted.json\n",
    ],
    [
      "routewright.config.ts",
      `const out: string = "api";\nexport default ${JSON.stringify({ ...CONFIG, out: undefined }).replace("{", "{ out, ")} as const;\n`,
    ],
  ])("is read: %s", async (file, text) => {
    expect(await inForce(configured(file, text))).toEqual({
      ...{ ...CONFIG, diff: undefined },
      artifacts: null,
      catalog: null,
      columns: null,
      runResults: null,
      sources: null,
      freshness: null,
      schemas: {},
      engine: null,
      publish: [],
      description: null,
      contact: null,
      termsOfService: null,
      logo: null,
      accent: null,
      headline: null,
      plans: {},
      signUp: null,
      "lint.baseline": ".routewright-baseline.json",
      "diff.unused": "breaking",
      "usage.shapes": false,
      tests: "api-tests",
      publicMaxAge: 0,
      purgeUrl: null,
      purgeMethod: "PURGE",
      "diff.severity": CONFIG.diff.severity,
      "diff.accept": "accepted.json",
    });
  });

  it("gives way to the environment, which gives way to a flag", async () => {
    const folder = configured("routewright.config.json", JSON.stringify(CONFIG));
    const address = "https://me:hush@example.org/manifest.json";
    const variables = { DBT_MANIFEST_URL: address, DEFAULT_ENDPOINT_TIER: "tier3" };
    expect(await inForce(folder, variables)).toMatchObject({
      manifest: "https://example.org/manifest.json",
      defaultTier: "tier3",
      title: "Shop",
    });
    await routewright(folder, ["generate", "--manifest", "target/manifest.json", "--out", "flag"], variables);
    expect(JSON.parse(filesIn(join(folder, "flag"))["catalogue.json"] ?? "")).toMatchObject({
      title: "Shop",
      defaultTier: "tier3",
    });
  });

  it("is printed with where each value comes from", async () => {
    const folder = configured("routewright.config.json", JSON.stringify(CONFIG));
    const variables = { DBT_CATALOG_PATH: "target/catalog.json", API_TITLE: "Shop 2", USAGE_SHAPES: "true" };
    const { out } = await routewright(folder, ["config"], variables);
    for (const line of [
      "manifest           target/manifest.json  (routewright.config.json)",
      "catalog            target/catalog.json  (DBT_CATALOG_PATH)",
      "title              Shop 2  (API_TITLE)",
      "runResults         -  (default)",
      "diff.accept        accepted.json  (routewright.config.json)",
      "diff.unused        breaking  (default)",
      "usage.shapes       true  (USAGE_SHAPES)",
    ])
      expect(out).toContain(`${line}\n`);
    const json = JSON.parse((await routewright(folder, ["config", "--json"])).out) as object;
    expect(json).toMatchObject({ out: { value: "api", from: "routewright.config.json" } });
  });

  it("is what every command goes by", async () => {
    const folder = configured("routewright.config.json", JSON.stringify(CONFIG));
    expect((await routewright(folder, ["generate"])).out).toContain("1 endpoint; 5 files changed");
    expect((await routewright(folder, ["generate", "--check"])).exit).toBe(0);
    expect(JSON.parse(filesIn(join(folder, "api"))["openapi.json"] ?? "")).toMatchObject({
      info: { title: "Shop" },
    });
    expect((await routewright(folder, ["lint", "--fail-on", "none"])).out).not.toContain("missing-tier-tag");
    const changed = { ...GOOD, description: "New words." };
    writeFileSync(join(folder, "head.json"), JSON.stringify(manifestOf([changed])));
    writeFileSync(join(folder, "accepted.json"), "[]");
    expect(await routewright(folder, ["diff", "api", "head.json"])).toMatchObject({
      exit: 1,
      out: expect.stringMatching(/^breaking +description-changed/m),
    });
  });

  it("says what pages and OpenAPI say of the API; consumers need not notice", async () => {
    const about = {
      description: "What shops sold.",
      contact: "https://shop.example/data",
      termsOfService: "https://shop.example/terms",
      logo: "logo.svg",
      accent: "#8a1253",
    };
    const folder = configured("routewright.config.json", JSON.stringify({ ...CONFIG, ...about }));
    writeFileSync(join(folder, "logo.svg"), "<svg/>");
    expect(await inForce(folder)).toMatchObject(about);
    await routewright(folder, ["generate"]);
    const logo = "data:image/svg+xml;base64,PHN2Zy8+";
    const files = filesIn(join(folder, "api"));
    expect(JSON.parse(files["catalogue.json"] ?? "")).toMatchObject({ about: { ...about, logo } });
    expect(JSON.parse(files["openapi.json"] ?? "")).toMatchObject({
      info: {
        description: expect.stringMatching(/^What shops sold\.\n\nRead-only access/),
        contact: { url: about.contact },
        termsOfService: about.termsOfService,
        "x-logo": { url: logo, altText: "Shop" },
      },
    });
    const others = { ...CONFIG, ...about, contact: "mailto:data@shop.example", accent: undefined };
    writeFileSync(join(folder, "routewright.config.json"), JSON.stringify(others));
    expect((await routewright(folder, ["generate", "--check"])).exit).toBe(1);
    expect((await routewright(folder, ["generate", "--out", "other"])).exit).toBe(0);
    writeFileSync(join(folder, "accepted.json"), "[]");
    const between = await routewright(folder, ["diff", "api", "other", "--fail-on", "any"]);
    expect({ exit: between.exit, err: between.err }).toEqual({ exit: 0, err: "" });
  });

  it.each([
    [
      { contact: "javascript:alert(1)" },
      /`contact`: .*Write an https:\/\/ address, or mailto: and an e-mail address\.$/,
    ],
    [{ contact: "http://shop.example" }, /`contact`: .*Write an https:\/\/ address/],
    [{ contact: "mailto:nobody" }, /`contact`: .*Write an https:\/\/ address/],
    [{ termsOfService: "ftp://shop.example" }, /`termsOfService`: .*Write an https:\/\/ address\.$/],
    [{ signUp: { plan: "free" } }, /`signUp\.plan`: `plans` has no "free"/],
    [
      { plans: { free: { tier: "tier1" } }, signUp: { plan: "free", who: "mailDomains" } },
      /`signUp\.mailDomains` and `"who": "mailDomains"` need each other/,
    ],
    [{ accent: "red;}" }, /`accent`: .*Write a colour as #rrggbb\.$/],
    [
      { accent: "#ffcc00" },
      /`accent`: #ffcc00 on the ground of the pages has a contrast of 1\.4, below 4\.5/,
    ],
    [{ logo: "none.png" }, /`logo`: none\.png cannot be read\./],
    [{ logo: "target/manifest.json" }, /`logo`: target\/manifest\.json is no picture of a known type\./],
    [{ logo: "large.png" }, /`logo`: large\.png has 32769 bytes: at most 32768 are allowed\.$/],
    [{ description: "" }, /`description`: The text is empty\./],
    [{ headline: [{ path: "/v1/none", column: "a" }] }, /`headline`: no endpoint has the path \/v1\/none\.$/],
    [
      { headline: [{ path: HEADLINE, column: "a" }] },
      /`headline`: \/v1\/\S+ does not answer everybody\. Name an endpoint of tier0/,
    ],
    [
      { headline: [{ path: HEADLINE, column: "none" }], defaultTier: "tier0" },
      /`headline`: \/v1\/\S+ has no column none\.$/,
    ],
    [{ headline: Array(4).fill({ path: HEADLINE, column: "a" }) }, /`headline`: /],
  ])("refuses %j", async (about, message) => {
    const folder = configured("routewright.config.json", JSON.stringify({ ...CONFIG, ...about }));
    writeFileSync(join(folder, "large.png"), Buffer.alloc(32_769));
    const { exit, err } = await routewright(folder, ["generate"]);
    expect({ exit, lines: err.trim().split("\n").length }).toEqual({ exit: 2, lines: 1 });
    expect(err.trim()).toMatch(message);
  });

  it("is checked as a whole: each problem is one line that names the key", async () => {
    const text = JSON.stringify({
      manifst: "x",
      out: 3,
      catalog: "",
      defaultTier: "teir1",
      lint: { "float-mony": "off", "float-money": "notice" },
      diff: { severities: {}, severity: { toString: "off", "column-added": "error" }, accept: [] },
      minimumNoticeDays: -1,
    });
    const folder = configured("routewright.config.json", text);
    const { exit, out, err } = await routewright(folder, ["generate"]);
    expect({ exit, out }).toEqual({ exit: 2, out: "" });
    expect(err.trimEnd().split("\n").sort()).toEqual(
      [
        'Unknown key "manifst". Did you mean `manifest`?',
        "`out`: 3 is not of type string. Write a text.",
        "`catalog`: The text is empty. Write at least one character.",
        '`defaultTier`: "teir1" is not allowed here. Use one of "tier0", "tier1", "tier2", "tier3".',
        '`lint`: Unknown key "float-mony". Did you mean `float-money`?',
        '`lint.float-money`: "notice" is not allowed here. Use one of "error", "warning", "off".',
        '`diff`: Unknown key "severities". Did you mean `severity`?',
        `\`diff.severity\`: Unknown key "toString". Known keys: ${Object.keys(KINDS).slice(0, 12).join(", ")}, ….`,
        '`diff.severity.column-added`: "error" is not allowed here. Use one of "exposing", "breaking", "warning", "compatible", "off".',
        "`diff.accept`: [] is not of type string. Write a text.",
        "`minimumNoticeDays`: -1 is out of range. It must be >= 0.",
      ]
        .map((problem) => `error: routewright.config.json: ${problem}`)
        .sort(),
    );
  });

  it.each([
    ["routewright.config.json", "{", /routewright\.config\.json is not JSON: /],
    ["routewright.config.json", "[]", /routewright\.config\.json: it is not an object of settings\.$/m],
    ["routewright.config.yml", "a: [", /routewright\.config\.yml cannot be read: /],
    ["routewright.config.ts", "export default {", /routewright\.config\.ts cannot be read: /],
    ["routewright.config.ts", "throw new Error('No luck.');", /cannot be read: No luck\.$/m],
  ])("that cannot be read is one error: %s %s", async (file, text, message) => {
    const { exit, err } = await routewright(configured(file, text), ["generate"]);
    expect({ exit, lines: err.trim().split("\n").length }).toEqual({ exit: 2, lines: 1 });
    expect(err).toMatch(message);
  });

  it("is one file: two are an error that names both", async () => {
    const folder = configured("routewright.config.json", "{}");
    writeFileSync(join(folder, "routewright.config.yml"), "");
    expect((await routewright(folder, ["generate"])).err).toBe(
      "error: There are two config files, routewright.config.json and routewright.config.yml: keep one.\n",
    );
  });
});

describe("the JSON Schema", () => {
  const shipped = JSON.parse(
    readFileSync(new URL("../../generator/dist/config.schema.json", import.meta.url), "utf8"),
  ) as { readonly properties: Readonly<Record<string, { readonly description: string }>> };

  it("that is shipped is the one that the command checks with, and every key has a description", () => {
    expect(shipped).toEqual(JSON.parse(JSON.stringify(withoutOwnKeywords(CONFIG_SCHEMA))));
    for (const property of Object.values(shipped.properties)) expect(property.description).not.toBe("");
  });

  it("accepts a config file with a $schema, and nothing that the command refuses", () => {
    const validate = new Ajv().compile(shipped);
    for (const config of [{}, { $schema: "x", ...CONFIG }, { x: 1 }, { out: 1 }, { lint: [] }])
      expect(validate(config), JSON.stringify(config)).toBe(configProblems(config).length === 0);
  });
});
