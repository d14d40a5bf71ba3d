import { type Finding, FINDING_SEVERITIES, type FindingSeverity } from "./finding.js";
import type { Item, Section } from "./report.js";

const HEADINGS = { error: "Errors", warning: "Warnings" } as const;

/** A section per severity. */
export function sectionsOf<Each extends { readonly severity: FindingSeverity }>(
  findings: readonly Each[],
  itemOf: (finding: Each) => Item,
  open: number,
): readonly Section[] {
  return FINDING_SEVERITIES.map((severity) => {
    const items = findings.filter((finding) => finding.severity === severity).map(itemOf);
    return { heading: HEADINGS[severity], items, open };
  });
}

/** What `lint` or `verify` found; `place`: where in the model's file. */
export function findingItem(
  rule: Pick<Item, "id" | "title">,
  finding: Omit<Finding, "rule">,
  place: readonly string[] = [],
): Item {
  const { severity, model, file, owner, endpoint, message, hint } = finding;
  return {
    ...rule,
    level: severity,
    label: severity,
    endpoints: [endpoint ?? model],
    difference: null,
    location: [
      model,
      ...(file === null ? [] : [file]),
      ...place,
      ...(owner === undefined ? [] : [`owner: ${owner}`]),
    ],
    file,
    details: [message, hint],
  };
}
