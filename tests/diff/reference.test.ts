import { expect, it } from "vitest";
import { KINDS } from "../../generator/diff/change-kinds.js";
import { RULES } from "../../generator/lint/checks.js";
import { CHECKS } from "../../generator/verify/checks.js";
import { rowsOf } from "../support/pages.js";

/** The rows of a page's table: severity and reason by the id in the first cell. */
const tableOf = (page: string) =>
  Object.fromEntries(rowsOf(page).map(([id = "", severity, reason]) => [id, [severity, reason]]));

it("lists every kind of change with its severity and reason, and no other", () => {
  const kinds = Object.entries(KINDS).map(([id, { severity, reason }]) => [id, [severity, reason]]);
  expect(tableOf("generator/docs/diff.md")).toEqual(Object.fromEntries(kinds));
});

it("lists every lint rule with its severity and reason, and no other", () => {
  const rules = Object.entries(RULES).map(([id, { severity, reason }]) => [id, [severity, reason]]);
  expect(tableOf("generator/docs/lint.md")).toEqual(Object.fromEntries(rules));
});

it("lists every check of verify, and no other", () => {
  const checks = Object.entries(CHECKS).map(([id, { severity, reason }]) => [id, [severity, reason]]);
  expect(tableOf("generator/docs/verify.md")).toEqual(Object.fromEntries(checks));
});
