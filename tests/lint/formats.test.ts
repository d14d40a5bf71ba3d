import { describe, expect, it } from "vitest";
import { DAILY, project, type TestNode } from "./project.js";
import { lintJson, reported } from "./run.js";

const HOSTILE = "a`|<b>\n::error::x%0A, @team\u202e";

describe("text of a manifest that would break out of a report", () => {
  const meta = { routewright: { lint: { "unlimited-response": HOSTILE, [HOSTILE]: "x" } } };
  const result = lintJson(
    project({ sales: { tags: DAILY, columns: ["day"], meta, more: { original_file_path: HOSTILE } } }),
  );

  it.each(["text", "markdown", "github"] as const)("stays on its line in %s", (format) => {
    const lines = reported(result, format).split("\n");
    expect(lines.filter((line) => line.startsWith("::error::"))).toEqual([]);
  });

  it.each(["text", "markdown", "json", "sarif"] as const)("hides nothing in %s", (format) => {
    expect(reported(result, format)).not.toContain("\u202e");
  });

  it("ends no code span of a comment", () => {
    expect(reported(result, "markdown")).toContain("`` a`|<b>\\n::error::x%0A, @team\\u202e ``");
  });

  it("ends no property of a workflow command", () => {
    expect(reported(result, "github")).toMatch(
      /^::error file=a`\|<b>%0A%3A%3Aerror%3A%3Ax%250A%2C @team\u202e,title=Invalid suppression%3A /,
    );
  });
});

it("has one result of SARIF per model, at its file, with a fingerprint of its own", () => {
  const undescribed = (name: string): TestNode => ({
    tags: DAILY.with(3, `api:${name}`),
    columns: ["day"],
    more: { original_file_path: `models/${name}.sql`, description: "" },
    meta: { routewright: { lint: { "unlimited-response": "One row a year." } } },
  });
  const result = lintJson(project({ sales: undescribed("sales"), visits: undescribed("visits") }));
  const { runs } = JSON.parse(reported(result, "sarif")) as {
    readonly runs: readonly [{ readonly results: readonly SarifResult[] }];
  };
  const shown = runs[0].results.map(({ ruleId, locations, suppressions }) => {
    return [ruleId, locations[0].physicalLocation.artifactLocation.uri, suppressions?.length ?? 0];
  });
  expect(shown).toEqual([
    ["missing-description", "models/sales.sql", 0],
    ["missing-description", "models/visits.sql", 0],
    ["unlimited-response", "models/sales.sql", 1],
    ["unlimited-response", "models/visits.sql", 1],
  ]);
  const prints = runs[0].results.map((one) => one.partialFingerprints.primaryLocationLineHash);
  expect(new Set(prints).size).toBe(4);
});

interface SarifResult {
  readonly ruleId: string;
  readonly locations: readonly [
    { readonly physicalLocation: { readonly artifactLocation: { readonly uri: string } } },
  ];
  readonly partialFingerprints: { readonly primaryLocationLineHash: string };
  readonly suppressions?: readonly unknown[];
}

it("keeps a comment within GitHub's limit, and says what it leaves out", () => {
  const names = Array.from({ length: 400 }, (_, i) => `sales_${String(i)}`);
  const nodes = names.map((name) => {
    const parameters = [{ name: `p_${name}`, column: "c", operator: "=", type: "string" }];
    return [
      name,
      {
        tags: DAILY.with(3, `api:${name}`),
        columns: ["c", "day"],
        api: { allow_unfiltered: true, parameters },
      },
    ];
  });
  const comment = reported(lintJson(project(Object.fromEntries(nodes))), "markdown");
  expect(comment.length).toBeLessThan(65_536);
  expect(comment).toMatch(/^### API lint: fails, 400 warnings\n\n0 errors, 400 warnings in 400 endpoints\n/);
  expect(comment).toMatch(/\n\d+ are left out here: `--format text` and `--format json` list all\.\n$/);
});
