import { expect, it } from "vitest";
import { lint } from "../../generator/commands/lint.js";
import { lintOptions } from "./run.js";

it("finds nothing in the starter: what it shows on purpose is suppressed with a reason", async () => {
  const { exit, output = "" } = await lint(
    lintOptions({ manifest: "templates/starter/manifest.json", format: "json" }),
  );
  const { findings, suppressed } = JSON.parse(output) as {
    findings: unknown[];
    suppressed: { reason: string }[];
  };
  expect({ exit, findings }).toEqual({ exit: 0, findings: [] });
  expect(suppressed.filter(({ reason }) => reason.length < 20)).toEqual([]);
});
