import { plain } from "../manifest/strings.js";
import { countsOf, type Finding, FINDING_SEVERITIES } from "../report/finding.js";
import { findingItem, sectionsOf } from "../report/finding-items.js";
import { counted, plainText, type Report } from "../report/report.js";
import { CHECKS, type MismatchRule } from "./checks.js";

interface ReportFacts extends Pick<Report, "title" | "notes"> {
  readonly endpoints: number;
  readonly failed: boolean;
}

/** The differences between a catalogue of `endpoints` endpoints and what it is compared with. `more`: further members of the JSON. */
export function verifyReport(
  { endpoints, failed, ...head }: ReportFacts,
  differences: readonly Finding<MismatchRule>[],
  more: Readonly<Record<string, unknown>> = {},
): Report {
  const { error, warning } = countsOf(FINDING_SEVERITIES, differences);
  const counts = `${counted(error, "error")}, ${counted(warning, "warning")}`;
  return {
    ...head,
    verdict: failed ? `fails, ${counted(differences.length, "difference")}` : "passes",
    summary: plain(`${counts} in ${counted(endpoints, "endpoint")}`),
    sections: sectionsOf(
      differences,
      (one) => findingItem({ id: one.rule, title: CHECKS[one.rule].title }, one),
      20,
    ),
    blocks: [],
    json: {
      version: 2,
      failed,
      summary: { error, warning, endpoints },
      ...more,
      differences: differences.map(({ severity, rule, ...one }) => ({
        severity,
        check: rule,
        ...one,
        message: plainText(one.message),
        hint: plainText(one.hint),
      })),
    },
  };
}
