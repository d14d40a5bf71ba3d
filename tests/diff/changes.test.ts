import { expect, it } from "vitest";
import { CHANGE_KINDS, type ChangeKind, KINDS } from "../../generator/diff/change-kinds.js";
import { changesBetween } from "./catalogues.js";
import { manifestWith, nothing, type Raw } from "./feature-model.js";
import { METRIC_CHANGES } from "./metric-changes.js";
import { TABLE } from "./table.js";

/** Kind and subject of each change; the severity is that of the kind (reference.test.ts). */
function judged(base: Raw, head: Raw): readonly string[] {
  return changesBetween(base, head).map(({ severity, kind, subject }) => {
    expect(severity).toBe(KINDS[kind].severity);
    return subject === null ? kind : `${kind} ${subject}`;
  });
}

it.each(TABLE)("$change, forwards and backwards", ({ given = nothing, edit, forwards, backwards }) => {
  const [base, head] = [manifestWith(given), manifestWith(given, edit)];
  expect({ forwards: judged(base, head), backwards: judged(head, base) }).toEqual({ forwards, backwards });
});

it.each(METRIC_CHANGES)(
  "$change, forwards and backwards, whatever the number of metrics",
  ({ given = nothing, edit, forwards, backwards }) => {
    const [base, head] = [manifestWith(given), manifestWith(given, edit)];
    expect({ forwards: distinct(judged(base, head)), backwards: distinct(judged(head, base)) }).toEqual({
      forwards,
      backwards,
    });
  },
);

function distinct(changes: readonly string[]): readonly string[] {
  return [...new Set(changes)];
}

/** Those of types with labels, which `named-types.test.ts` shows. */
const OF_ENUMERATIONS: readonly ChangeKind[] = [
  "column-label-added",
  "column-label-renamed",
  "column-label-removed",
  "column-labels-moved",
  "column-type-renamed",
];

it("shows every kind at least once", () => {
  const shown = new Set(
    [...TABLE, ...METRIC_CHANGES]
      .flatMap(({ forwards, backwards }) => [...forwards, ...backwards])
      .map((one) => one.split(" ")[0]),
  );
  // Those of plans are in `plans.test.ts`.
  const ofEndpoints = CHANGE_KINDS.filter((kind) => !kind.startsWith("plan-"));
  expect(ofEndpoints.filter((kind) => !shown.has(kind))).toEqual(OF_ENUMERATIONS);
});
