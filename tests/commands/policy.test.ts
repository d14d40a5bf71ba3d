import { describe, expect, it } from "vitest";
import { readPolicy } from "../../generator/policy.js";

describe("the policy keys of a config file", () => {
  it("have defaults", () => {
    expect(readPolicy({}, "c.json")).toEqual({
      ok: true,
      policy: { lint: {}, severities: {}, accept: undefined, minimumNoticeDays: 30 },
    });
  });

  it("are read, other keys aside", () => {
    const config = {
      manifest: "target/manifest.json",
      lint: { "unindexed-column": "off", "untyped-column": "error" },
      diff: {
        severity: { "column-widened": "breaking", "description-changed": "off" },
        accept: "accepted.json",
      },
      minimumNoticeDays: 90,
    };
    expect(readPolicy(config, "c.json")).toEqual({
      ok: true,
      policy: {
        lint: config.lint,
        severities: config.diff.severity,
        accept: "accepted.json",
        minimumNoticeDays: 90,
      },
    });
  });

  it.each([
    [
      { lint: { "unindexed-colum": "off" } },
      'unknown id "unindexed-colum" in `lint`; did you mean "unindexed-column"?',
    ],
    [
      { lint: { "unindexed-column": "notice" } },
      '`lint.unindexed-column` is "notice"; use one of error, warning, off.',
    ],
    [{ diff: { severity: { toString: "off" } } }, 'unknown id "toString" in `diff.severity`'],
    [
      { diff: { severity: { "column-added": "error" } } },
      "use one of exposing, breaking, warning, compatible, off.",
    ],
    [{ diff: { severities: {} } }, 'unknown key "severities" in `diff`'],
    [{ diff: { accept: [] } }, "`diff.accept` is not the name of a file."],
    [{ diff: "x" }, "`diff` is not an object"],
    [{ minimumNoticeDays: -1 }, "`minimumNoticeDays` is -1"],
  ])("are refused: %j", (config, problem) => {
    const reading = readPolicy(config, "c.json");
    expect(reading.ok ? "" : reading.problems.join("\n")).toContain(`c.json: ${problem}`.slice(0, 8));
    expect(reading.ok ? "" : reading.problems.join("\n")).toContain(problem);
  });
});
