import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { KINDS } from "../../generator/diff/change.js";
import { RULES } from "../../generator/lint/finding.js";
import { CHECKS } from "../../generator/verify/relations.js";

const README = readFileSync("generator/README.md", "utf8");

/** The rows of a section's first table, without its head: cells by the id in the first. */
function tableOf(heading: string): Readonly<Record<string, readonly string[]>> {
  const section = README.split(/^## /m).find((text) => text.startsWith(`${heading}\n`)) ?? "";
  const rows = [...section.matchAll(/^\| `([\w-]+)` *\|(.*)\|$/gm)];
  return Object.fromEntries(
    rows.map(([, id = "", cells = ""]) => [id, cells.split("|").map((cell) => cell.trim())]),
  );
}

it("lists every kind of change with its severity and reason, and no other", () => {
  const kinds = Object.entries(KINDS).map(([id, { severity, reason }]) => [id, [severity, reason]]);
  expect(tableOf("Diff")).toEqual(Object.fromEntries(kinds));
});

it("lists every lint rule with its severity and reason, and no other", () => {
  const rules = Object.entries(RULES).map(([id, { severity, reason }]) => [id, [severity, reason]]);
  expect(tableOf("Lint")).toEqual(Object.fromEntries(rules));
});

it("lists every check of verify, and no other", () => {
  const checks = Object.entries(CHECKS).map(([id, { severity, reason }]) => [id, [severity, reason]]);
  expect(tableOf("Verify")).toEqual(Object.fromEntries(checks));
});
