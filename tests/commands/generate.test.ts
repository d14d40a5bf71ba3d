import { spawnSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { filesIn } from "../support/files.js";
import { gitIn } from "../support/git.js";
import { manifestOf } from "../support/manifest.js";
import { needs } from "../support/needs.js";
import { ownFolder } from "../support/service.js";
import { BAD, CLI, GENERATE, GOOD, project, routewright } from "./run.js";

describe("routewright generate", () => {
  it("writes the folder and lists each file, then reports that nothing changed", async () => {
    const folder = project(GOOD);
    expect(await routewright(folder, GENERATE)).toEqual({
      exit: 0,
      out: [
        "added    generated/catalogue.json",
        "added    generated/index.ts",
        "added    generated/lineage.json",
        "added    generated/openapi.json",
        "added    generated/routes/bridges/volume.ts",
        "1 endpoint; 5 files changed; no model skipped\n",
      ].join("\n"),
      err: "",
    });
    expect((await routewright(folder, GENERATE)).out).toBe("1 endpoint; no file changed; no model skipped\n");
  });

  it("reports each skipped model with every problem, and still exits 0", async () => {
    const { exit, out } = await routewright(project(GOOD, BAD), GENERATE);
    expect(exit).toBe(0);
    expect(out).toContain("skipped  model.test.bad (models/bad.sql): invalid\n");
    expect(out).toContain(
      "$.config.meta.api.methods: The list is empty. List at least one, or leave the key out.\n",
    );
    expect(out).toContain("$.config.meta.api.allow_unfiltered: It is false");
  });

  it("reads the numbers that dbt writes for .inf and .nan of YAML, as lint and diff do", async () => {
    const folder = project(GOOD);
    const file = join(folder, "manifest.json");
    const written = JSON.stringify(
      manifestOf([
        { ...GOOD, routewright: { timezone: "@" } },
        {
          ...BAD,
          api: { allow_unfiltered: true, pagination: { enabled: true, default_limit: "@", max_limit: 10 } },
        },
      ]),
    );
    writeFileSync(
      file,
      written.replaceAll('"@"', "Infinity").replace('"config":{', '"config":{"weight":NaN,"low":-Infinity,'),
    );
    const { exit, out, err } = await routewright(folder, GENERATE);
    expect([exit, err]).toEqual([0, ""]);
    expect(out).toContain("$.config.meta.api.pagination.default_limit");
    expect(out).toContain("Infinity");
    for (const command of [
      ["lint", "--manifest", "manifest.json"],
      ["diff", "manifest.json", "manifest.json"],
    ])
      expect((await routewright(folder, command)).exit).not.toBe(2);
  });

  it("exits 1 with --strict where a model is invalid or its path is taken, not where it is excluded", async () => {
    const strict = [...GENERATE, "--strict"];
    const excluded = { ...BAD, api: { exclude_from_api: true } };
    expect((await routewright(project(GOOD, excluded), strict)).exit).toBe(0);
    expect((await routewright(project(GOOD, { ...GOOD, name: "twin" }), strict)).exit).toBe(1);
    const folder = project(GOOD, BAD);
    expect((await routewright(folder, strict)).exit).toBe(1);
    expect(Object.keys(filesIn(join(folder, "generated")))).toHaveLength(5);
  });

  it.skipIf(!needs("git"))(
    "resolves the merge conflicts of the folder, which other commands name",
    async () => {
      const folder = project(GOOD);
      const git = gitIn(folder);
      const generate = async (description: string): Promise<void> => {
        writeFileSync(join(folder, "manifest.json"), JSON.stringify(manifestOf([{ ...GOOD, description }])));
        expect((await routewright(folder, GENERATE)).exit).toBe(0);
        git("add", "generated");
        git("commit", "-q", "--allow-empty", "-m", description);
      };
      git("init", "-q", "-b", "main");
      await generate("Before.");
      git("checkout", "-q", "-b", "other");
      await generate("Theirs.");
      git("checkout", "-q", "main");
      await generate("Ours.");
      const merged = filesIn(join(folder, "generated"));
      expect(() => git("merge", "-q", "other")).toThrow();
      expect(git("diff", "--name-only", "--diff-filter=U")).toContain("generated/catalogue.json\n");
      expect(await routewright(folder, ["diff", "git:other", "generated"])).toEqual({
        exit: 2,
        out: "",
        err: "error: generated/catalogue.json has a merge conflict. Run `routewright generate`, which resolves it.\n",
      });
      expect((await routewright(folder, [...GENERATE, "--check"])).exit).toBe(1);
      expect((await routewright(folder, GENERATE)).exit).toBe(0);
      expect(filesIn(join(folder, "generated"))).toEqual(merged);
    },
  );

  it("reports as JSON", async () => {
    const folder = project(GOOD, BAD, {
      ...GOOD,
      name: "warned",
      tags: ["production", "c", "api:w"],
      api: { allow_unfiltered: true, sorted: 1 },
    });
    const { exit, out } = await routewright(folder, [...GENERATE, "--json"]);
    expect(exit).toBe(0);
    expect(JSON.parse(out)).toEqual({
      endpoints: 2,
      added: [
        "catalogue.json",
        "index.ts",
        "lineage.json",
        "openapi.json",
        "routes/bridges/volume.ts",
        "routes/c/w.ts",
      ],
      changed: [],
      removed: [],
      causes: {},
      exposing: [],
      notes: [],
      schemas: [],
      skipped: [
        {
          model: "model.test.bad",
          file: "models/bad.sql",
          reason: "invalid",
          problems: [
            expect.objectContaining({
              path: "$.config.meta.api.methods",
              hint: "List at least one, or leave the key out.",
            }),
            expect.objectContaining({ path: "$.config.meta.api.allow_unfiltered" }),
          ],
        },
      ],
      warnings: [
        {
          model: "model.test.warned",
          path: "$.config.meta.api",
          message: 'Unknown key "sorted"; ignored.',
          hint: "Did you mean `sort`?",
        },
      ],
    });
  });

  it("takes columns and types from dbt's catalog", async () => {
    const api = { allow_unfiltered: true, sort: [{ column: "day", direction: "ASC" }] };
    const folder = project({ ...GOOD, columns: {}, api });
    const catalog = {
      metadata: { dbt_schema_version: "https://schemas.getdbt.com/dbt/catalog/v1.json" },
      nodes: {
        "model.test.volume": { columns: { day: { name: "day", type: "date", index: 1, comment: "Day." } } },
      },
    };
    writeFileSync(join(folder, "catalog.json"), JSON.stringify(catalog));
    expect((await routewright(folder, [...GENERATE, "--strict"])).exit).toBe(1);
    expect((await routewright(folder, [...GENERATE, "--strict", "--catalog", "catalog.json"])).exit).toBe(0);
    expect(filesIn(join(folder, "generated"))["routes/bridges/volume.ts"]).toContain(
      "  /** Day (date null). */\n  day: string | null;\n",
    );
    expect(await routewright(folder, [...GENERATE, "--catalog", "manifest.json"])).toMatchObject({
      exit: 2,
      err: expect.stringMatching(/^error: manifest\.json is not a dbt catalog\./),
    });
  });
});

it("a manifest that publishes nothing any more removes no endpoint without --allow-empty", async () => {
  const folder = project(GOOD);
  await routewright(folder, GENERATE);
  const before = filesIn(join(folder, "generated"));
  writeFileSync(join(folder, "manifest.json"), JSON.stringify(manifestOf([])));
  expect(await routewright(folder, GENERATE)).toEqual({
    exit: 2,
    out: "",
    err: "error: The manifest publishes no endpoint, and all 1 of the folder would be removed. Nothing was changed. Check the manifest, or run `routewright generate --allow-empty`.\nerror: The manifest has no model: run `dbt parse` in the project that has them, and name its target/manifest.json.\n",
  });
  expect(filesIn(join(folder, "generated"))).toEqual(before);
  expect((await routewright(folder, [...GENERATE, "--allow-empty"])).exit).toBe(0);
  expect(Object.keys(filesIn(join(folder, "generated")))).toEqual([
    "catalogue.json",
    "index.ts",
    "lineage.json",
    "openapi.json",
  ]);
});

describe("routewright generate --check", () => {
  it("exits 0 where the folder is up to date", async () => {
    const folder = project(GOOD);
    await routewright(folder, GENERATE);
    expect(await routewright(folder, [...GENERATE, "--check"])).toEqual({
      exit: 0,
      out: "1 endpoint; the folder is up to date; no model skipped\n",
      err: "",
    });
  });

  it("exits 1, names each file with what is wrong with it, and writes nothing", async () => {
    const folder = project(GOOD, { ...GOOD, name: "gone", tags: ["production", "c", "api:gone"] });
    await routewright(folder, GENERATE);
    writeFileSync(join(folder, "manifest.json"), JSON.stringify(manifestOf([GOOD])));
    rmSync(join(folder, "generated/routes/bridges/volume.ts"));
    const before = filesIn(folder);
    const { exit, out } = await routewright(folder, [...GENERATE, "--check"]);
    expect(exit).toBe(1);
    expect(out).toBe(
      [
        "out of date          generated/catalogue.json",
        "out of date          generated/index.ts",
        "out of date          generated/lineage.json",
        "out of date          generated/openapi.json",
        "missing              generated/routes/bridges/volume.ts",
        "no longer generated  generated/routes/c/gone.ts: model.test.gone is not in the manifest any more",
        "1 endpoint; 6 files not up to date: run `routewright generate`; no model skipped\n",
      ].join("\n"),
    );
    expect(filesIn(folder)).toEqual(before);
  });

  it("exits 1 where there is no folder yet, and makes none", async () => {
    const folder = project(GOOD);
    expect((await routewright(folder, [...GENERATE, "--check", "--out", "a/b"])).exit).toBe(1);
    expect(Object.keys(filesIn(folder))).toEqual(["manifest.json"]);
  });
});

describe("where the manifest is", () => {
  const name = { DBT_MANIFEST_PATH: "manifest.json" };

  it("is taken from a flag, then from DBT_MANIFEST_PATH, then from DBT_MANIFEST_URL", async () => {
    const folder = project(GOOD);
    const nowhere = { DBT_MANIFEST_PATH: "none.json", DBT_MANIFEST_URL: "http://127.0.0.1:1/m.json" };
    expect((await routewright(folder, GENERATE, nowhere)).exit).toBe(0);
    expect((await routewright(folder, ["generate"], { ...nowhere, ...name })).exit).toBe(0);
    const { DBT_MANIFEST_URL } = nowhere;
    expect(await routewright(folder, ["generate"], { DBT_MANIFEST_URL })).toMatchObject({
      exit: 2,
      err: expect.stringMatching(/^error: Cannot fetch http:\/\/127\.0\.0\.1:1\/m\.json: .+\n$/),
    });
  });

  it.each(["generate", "lint", "watch"])("is required by %s", async (command) => {
    expect(await routewright(ownFolder(), [command])).toEqual({
      exit: 2,
      out: "",
      err: "error: Name the manifest with --manifest, DBT_MANIFEST_PATH, DBT_MANIFEST_URL or DBT_ARTIFACTS_URL, or `manifest` or `artifacts` in routewright.config.json.\n",
    });
  });

  it("has to be one", async () => {
    const folder = ownFolder();
    expect(await routewright(folder, GENERATE)).toMatchObject({
      exit: 2,
      err: "error: Cannot read manifest.json: there is no such file. `dbt parse` or `dbt build` writes it to target/.\n",
    });
    writeFileSync(join(folder, "manifest.json"), "{");
    expect(await routewright(folder, GENERATE)).toMatchObject({
      exit: 2,
      err: expect.stringMatching(/^error: .+\n$/),
    });
  });

  it.each([
    [
      { DBT_MANIFEST_URL: "ftp://me:hidden@host/m.json" },
      /^error: DBT_MANIFEST_URL must be an https:\/\/, s3:\/\//,
    ],
    [
      { ...name, DEFAULT_ENDPOINT_TIER: "tier9" },
      /^error: DEFAULT_ENDPOINT_TIER must be one of tier0, tier1, tier2, tier3\.\n$/,
    ],
  ])("and the rest of the environment have to be sound: %j", async (variables, complaint) => {
    const { exit, err } = await routewright(project(GOOD), ["generate"], variables);
    expect(exit).toBe(2);
    expect(err).toMatch(complaint);
    expect(err).not.toContain("hidden");
  });

  it("DEFAULT_ENDPOINT_TIER is the tier of a model without one", async () => {
    const folder = project(GOOD);
    await routewright(folder, GENERATE, { DEFAULT_ENDPOINT_TIER: "tier2" });
    expect(filesIn(join(folder, "generated"))["routes/bridges/volume.ts"]).toContain('tier: "tier2"');
  });

  it("API_TITLE is the title of the document", async () => {
    const folder = project(GOOD);
    const title = 'Shop <b>"& figures';
    await routewright(folder, GENERATE, { API_TITLE: title });
    const document = filesIn(join(folder, "generated"))["openapi.json"] ?? "";
    expect(JSON.parse(document)).toMatchObject({ info: { title } });
    expect((await routewright(folder, [...GENERATE, "--check"], { API_TITLE: title })).exit).toBe(0);
    expect((await routewright(folder, [...GENERATE, "--check"])).exit).toBe(1);
  });
});

describe("bad usage", () => {
  it.each([
    [["generate", "--manifset", "x"], /unknown option '--manifset'\n\(Did you mean --manifest\?\)/],
    [["generate", "--manifest"], /argument missing/],
    [["generate", "extra"], /too many arguments/],
    [["generat"], /unknown command 'generat'\n\(Did you mean generate\?\)/],
    [["lint", "--format", "xml"], /Allowed choices are text, markdown, json, github/],
    [["lint", "--fail-on", "breaking"], /Allowed choices are error, warning, none/],
    [["--nonsense"], /unknown option '--nonsense'/],
    [["serve", "--port"], /argument missing/],
  ])("%j exits 2 and says what is wrong", async (args, complaint) => {
    const { exit, out, err } = await routewright(ownFolder(), args);
    expect(exit).toBe(2);
    expect(out).toBe("");
    expect(err).toMatch(complaint);
  });

  it("no command exits 2 with the help; asking for help exits 0", async () => {
    expect(await routewright(ownFolder(), [])).toMatchObject({
      exit: 2,
      err: expect.stringContaining("generate"),
    });
    expect(await routewright(ownFolder(), ["generate", "--help"])).toMatchObject({
      exit: 0,
      out: expect.stringContaining("--manifest"),
    });
  });
});

it("a reader that has seen enough closes the pipe without a complaint", () => {
  const folder = project(GOOD);
  const piped = spawnSync("sh", ["-c", `"${process.execPath}" "${CLI}" generate --help | true`], {
    cwd: folder,
    encoding: "utf8",
  });
  expect({ status: piped.status, err: piped.stderr }).toEqual({ status: 0, err: "" });
});
