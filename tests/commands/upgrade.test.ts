import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { manifestOf } from "../support/manifest.js";
import { GENERATE, GOOD, project, routewright } from "./run.js";

/** A generated folder as a version would have left it that read the type of the column otherwise. */
async function folderOfEarlierVersion(): Promise<string> {
  const folder = project(GOOD);
  await routewright(folder, GENERATE);
  const file = join(folder, "generated/catalogue.json");
  writeFileSync(
    file,
    readFileSync(file, "utf8")
      .replace('"type": "numeric null"', '"type": "bigint null"')
      .replace('"type":"numeric null"', '"type":"bigint null"'),
  );
  return folder;
}

it("generate reports what an upgrade changes in the API of a model that has not changed", async () => {
  const folder = await folderOfEarlierVersion();
  const { exit, out } = await routewright(folder, GENERATE);
  expect(exit).toBe(0);
  expect(out).toContain("upgrade  breaking column-retyped /v1/bridges/volume value\n");
  expect(out).toContain(
    "1 change of the API without a changed model: this version of Routewright reads the models differently\n",
  );
  expect((await routewright(folder, GENERATE)).out).not.toContain("upgrade");
});

it("and not what the model's own change brings, nor other settings", async () => {
  const folder = await folderOfEarlierVersion();
  writeFileSync(
    join(folder, "manifest.json"),
    JSON.stringify(manifestOf([{ ...GOOD, description: "New." }])),
  );
  expect((await routewright(folder, GENERATE)).out).not.toContain("upgrade");
  const other = await folderOfEarlierVersion();
  expect((await routewright(other, GENERATE, { DEFAULT_ENDPOINT_TIER: "tier2" })).out).not.toContain(
    "upgrade",
  );
});

it("--json lists them", async () => {
  const { out } = await routewright(await folderOfEarlierVersion(), [...GENERATE, "--json"]);
  expect(JSON.parse(out)).toMatchObject({
    upgrade: [
      {
        kind: "column-retyped",
        severity: "breaking",
        endpoint: "/v1/bridges/volume",
        subject: "value",
      },
    ],
  });
});
