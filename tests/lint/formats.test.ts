import { describe, expect, it } from "vitest";
import { formatResult } from "../../generator/report/lint/report.js";
import { RULE_IDS, SEVERITIES, severityOf } from "../../generator/lint/finding.js";
import { DAILY, project } from "./project.js";
import { lintJson } from "./run.js";

const HOSTILE = "a`|<b>\n::error::x%0A, @team\u202e";

describe("text of a manifest that would break out of a report", () => {
  const meta = { routewright: { lint: { "unlimited-response": HOSTILE, [HOSTILE]: "x" } } };
  const result = lintJson(
    project({ sales: { tags: DAILY, columns: ["day"], meta, more: { original_file_path: HOSTILE } } }),
  );

  it.each(["text", "markdown", "github"] as const)("stays on its line in %s", (format) => {
    const lines = formatResult(result, format).split("\n");
    expect(lines.filter((line) => line.startsWith("::error::"))).toEqual([]);
  });

  it.each(["text", "markdown", "json"] as const)("hides nothing in %s", (format) => {
    expect(formatResult(result, format)).not.toContain("\u202e");
  });

  it("ends no code span of a comment", () => {
    expect(formatResult(result, "markdown")).toContain("`` a`|<b>\\n::error::x%0A, @team\\u202e ``");
  });

  it("ends no property of a workflow command", () => {
    expect(formatResult(result, "github")).toMatch(
      /^::error file=a`\|<b>%0A%3A%3Aerror%3A%3Ax%250A%2C @team\u202e,title=invalid-suppression%3A /,
    );
  });
});

it("lists errors before warnings before notices", () => {
  const ranks = RULE_IDS.map((rule) => SEVERITIES.indexOf(severityOf({ rule })));
  expect(ranks).toEqual(ranks.toSorted((a, b) => a - b));
});

it("keeps a comment within GitHub's limit, and says what it leaves out", () => {
  const names = Array.from({ length: 400 }, (_, i) => `sales_${String(i)}`);
  const nodes = names.map((name) => [name, { tags: DAILY.with(3, `api:${name}`) }]);
  const comment = formatResult(lintJson(project(Object.fromEntries(nodes))), "markdown");
  expect(comment.length).toBeLessThan(65_536);
  expect(comment).toMatch(/^### API lint: 0 errors, 800 warnings, 0 notices in 400 endpoints\n/);
  expect(comment).toMatch(/\n\d+ are left out here: `--format text` and `--format json` tell all\.\n$/);
});
