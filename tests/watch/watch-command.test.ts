import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { filesIn, putJson } from "../support/files.js";
import { readGeneratedFiles } from "../../runtime/server/release/generated-folder.js";
import { start } from "../support/command.js";
import { manifestOf } from "../support/manifest.js";
import { generateInto, ownFolder } from "../support/service.js";

/** Two catalogues of some hundred endpoints that share hardly a file. */
const MANIFESTS = ["a", "b"].map((name) =>
  manifestOf(
    Array.from({ length: 300 }, (_, i) => ({
      name: `api_${name}_${i}`,
      tags: ["production", "flows", `api:${i % 3 === 0 ? "both" : name}_${i}`],
      columns: { day: "date", [`value_${name}`]: "bigint" },
    })),
  ),
);

const put = (folder: string, manifest: unknown) => putJson(join(folder, "manifest.json"), manifest);

const watch = (folder: string, variables: Readonly<Record<string, string>> = {}) =>
  start(folder, ["watch", "--manifest", "manifest.json", "--interval", "60"], variables);

/** The whole tree, as text. */
const treeOf = (folder: string): string => JSON.stringify(filesIn(join(folder, "generated")));

describe("routewright watch", () => {
  it("regenerates at once when the file changes, with API_TITLE as title, and ends cleanly at Ctrl-C", async () => {
    const folder = ownFolder();
    put(folder, manifestOf([{ name: "api_a", tags: ["production", "api:a"], columns: { n: "bigint" } }]));
    const command = watch(folder, { API_TITLE: "Shop" });
    await command.until(/1 endpoint; 5 files changed/);
    put(folder, manifestOf([{ name: "api_b", tags: ["production", "api:b"], columns: { n: "bigint" } }]));
    await command.until(/removed +generated\/routes\/general\/a\.ts/);
    const files = filesIn(join(folder, "generated"));
    expect(JSON.parse(files["openapi.json"] ?? "")).toMatchObject({ info: { title: "Shop" } });
    expect(Object.keys(files)).toEqual([
      "catalogue.json",
      "index.ts",
      "lineage.json",
      "openapi.json",
      "routes/general/b.ts",
    ]);
    expect((await command.stop("SIGINT")).code).toBe(0);
  });

  it("regenerates when the catalog changes and the manifest does not, also after it could not be read", async () => {
    const folder = ownFolder();
    const putCatalog = (type: string): void =>
      putJson(join(folder, "catalog.json"), {
        metadata: { dbt_schema_version: "https://schemas.getdbt.com/dbt/catalog/v1.json" },
        nodes: { "model.test.api_a": { columns: { n: { name: "n", type, index: 1 } } } },
      });
    putCatalog("bigint");
    put(folder, manifestOf([{ name: "api_a", tags: ["production", "api:a"], columns: { n: null } }]));
    const command = start(folder, [
      ...["watch", "--manifest", "manifest.json", "--catalog", "catalog.json"],
      ...["--interval", "60"],
    ]);
    await command.until(/1 endpoint; 5 files changed/);
    writeFileSync(join(folder, "catalog.json"), "{");
    await command.until(/catalog\.json is not JSON/);
    putCatalog("text");
    await command.until(/changed +generated\/routes\/general\/a\.ts/);
    expect(filesIn(join(folder, "generated"))["routes/general/a.ts"]).toContain("text");
    await command.stop();
  });

  it("reports every change of the folder, also one like the last", async () => {
    const folder = ownFolder();
    const command = watch(folder);
    for (const [i, type] of ["bigint", "text", "date"].entries()) {
      put(folder, manifestOf([{ name: "api_a", tags: ["production", "api:a"], columns: { n: type } }]));
      await command.until(new RegExp(`(?:1 endpoint;[^]*){${i + 1}}`));
    }
    const { stdout } = await command.stop();
    expect(stdout.match(/changed +generated\/routes\/general\/a\.ts/g)).toHaveLength(2);
  });

  it("changes nothing for a half-written manifest, reports it once, and continues when it is complete", async () => {
    const folder = ownFolder();
    const whole = JSON.stringify(manifestOf([{ name: "api_a", tags: ["production", "api:a"], columns: {} }]));
    put(folder, JSON.parse(whole));
    const command = watch(folder);
    await command.until(/1 endpoint;/);
    const before = treeOf(folder);
    for (const length of [10, 20, 30]) {
      writeFileSync(join(folder, "manifest.json"), whole.slice(0, length));
      await sleep(400);
    }
    await command.until(/is not JSON/);
    expect(treeOf(folder)).toBe(before);
    writeFileSync(join(folder, "manifest.json"), whole.replaceAll("api_a", "api_c"));
    await command.until(/changed +generated\/routes\/general\/a\.ts/);
    await command.stop();
  });

  it("leaves a folder that the digests report as mixed and the next run repairs, wherever it is killed", async () => {
    const folder = ownFolder();
    const generated = join(folder, "generated");
    put(folder, MANIFESTS[0]);
    generateInto(generated, MANIFESTS[0]);
    const trees = MANIFESTS.map((manifest) => {
      const expected = ownFolder();
      generateInto(join(expected, "generated"), manifest);
      return treeOf(expected);
    });
    for (let kill = 1; kill <= 6; kill++) {
      const command = watch(folder);
      await command.until(/Watching/);
      put(folder, MANIFESTS[kill % 2]);
      await sleep(Math.random() * 350);
      await command.stop("SIGKILL");
      const isRead = await readGeneratedFiles(generated).then(
        () => true,
        () => false,
      );
      if (isRead) expect(trees).toContain(treeOf(folder));
      generateInto(generated, MANIFESTS[kill % 2]);
      expect(treeOf(folder)).toBe(trees[kill % 2]);
    }
  });
});
