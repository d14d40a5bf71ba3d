import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { manifestOf } from "../support/manifest.js";
import { GENERATE, GOOD, project, routewright } from "./run.js";

/** A generated folder as a version would have left it that read the type of the column otherwise. */
function folderOfEarlierVersion(): string {
  const folder = project(GOOD);
  routewright(folder, GENERATE);
  const file = join(folder, "generated/catalogue.json");
  writeFileSync(
    file,
    readFileSync(file, "utf8")
      .replace('"type": "numeric null"', '"type": "bigint null"')
      .replace('"type":"numeric null"', '"type":"bigint null"'),
  );
  return folder;
}

it("generate reports what an upgrade changes in the API of a model that has not changed", () => {
  const folder = folderOfEarlierVersion();
  const { exit, out } = routewright(folder, GENERATE);
  expect(exit).toBe(0);
  expect(out).toContain("upgrade  breaking column-retyped /v1/bridges/volume value\n");
  expect(out).toContain(
    "1 change of the API without a changed model: this version of Routewright reads the models differently\n",
  );
  expect(routewright(folder, GENERATE).out).not.toContain("upgrade");
});

it("and not what the model's own change brings, nor other settings", () => {
  const folder = folderOfEarlierVersion();
  writeFileSync(
    join(folder, "manifest.json"),
    JSON.stringify(manifestOf([{ ...GOOD, description: "New." }])),
  );
  expect(routewright(folder, GENERATE).out).not.toContain("upgrade");
  const other = folderOfEarlierVersion();
  expect(routewright(other, GENERATE, { DEFAULT_ENDPOINT_TIER: "tier2" }).out).not.toContain("upgrade");
});

it("--json lists them", () => {
  const { out } = routewright(folderOfEarlierVersion(), [...GENERATE, "--json"]);
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
