import { writeFileSync } from "node:fs";
import { expect, it } from "vitest";
import { SEVERITIES, type Severity } from "../../../generator/diff/change.js";
import { changesBetween } from "../catalogues.js";
import { TABLE } from "../table.js";
import { clientDifferences } from "./client-types.js";
import type { Difference } from "./compare.js";
import { EXPLAINED } from "./explained.js";
import { serveCases } from "./serve.js";
import { casesOf } from "./sides.js";

/** One change in one direction: what `diff` says, and what callers notice. */
interface Judged {
  readonly change: string;
  readonly verdict: Severity | "none";
  readonly noticed: readonly Difference[];
  readonly agrees: boolean;
}

const cases = casesOf(TABLE);
const served = await serveCases(cases);
const clients = clientDifferences(served.base.catalogue, served.head.catalogue);
const judged = cases.map(({ change, base, head }, i): Judged => {
  const noticed = [...(served.noticed[i] ?? []), ...(clients.get(i) ?? [])];
  const found = changesBetween(base, head).map(({ severity }) => severity);
  const verdict = SEVERITIES.find((severity) => found.includes(severity)) ?? "none";
  return { change, verdict, noticed, agrees: agrees(verdict, noticed) };
});

/** Rows that open need `exposing` or `breaking`, failing clients `breaking`, other differences a warning; none is no reason to fail. */
function agrees(verdict: Judged["verdict"], noticed: readonly Difference[]): boolean {
  const isFailing = verdict === "exposing" || verdict === "breaking";
  if (noticed.some(({ needs }) => needs !== "warning")) return isFailing;
  return noticed.length > 0 ? isFailing || verdict === "warning" : !isFailing;
}

const table = process.env["ORACLE_TABLE"];
if (table !== undefined) writeFileSync(table, judged.map(lineOf).join(""));

function lineOf({ change, verdict, noticed, agrees: isAgreed }: Judged): string {
  const seen = [...new Set(noticed.map(({ needs, what }) => `${needs}: ${what}`))].join("; ");
  return `| ${change} | ${verdict} | ${seen} | ${isAgreed ? "" : (EXPLAINED[change] ?? "UNEXPLAINED")} |\n`;
}

it("judges at least 250 single changes", () => {
  expect(judged.length).toBeGreaterThan(250);
  expect(served.requests).toBeGreaterThan(3_000);
});

it("calls no change compatible that a caller notices, and every disagreement is explained", () => {
  const disagreements = judged.filter(({ agrees: isAgreed }) => !isAgreed);
  expect(Object.fromEntries(disagreements.map((one) => [one.change, lineOf(one)]))).toEqual(
    Object.fromEntries(
      disagreements.filter(({ change }) => change in EXPLAINED).map((one) => [one.change, lineOf(one)]),
    ),
  );
  const changes = new Set(disagreements.map(({ change }) => change));
  expect(Object.keys(EXPLAINED).filter((change) => !changes.has(change))).toEqual([]);
});
