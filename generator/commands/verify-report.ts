import { plain } from "../manifest/strings.js";
import { findingCounts } from "../lint/finding.js";
import { findingItem, sectionsOf } from "../report/lint-report.js";
import { counted, plainText, type Report } from "../report/report.js";
import { CHECKS, type RatedMismatch } from "../verify/relations.js";

interface ReportFacts extends Pick<Report, "title" | "notes"> {
  readonly endpoints: number;
  readonly failed: boolean;
}

/** The differences between a catalogue of `endpoints` endpoints and what it is compared with. `more`: further members of the JSON. */
export function verifyReport(
  { endpoints, failed, ...head }: ReportFacts,
  differences: readonly RatedMismatch[],
  more: Readonly<Record<string, unknown>> = {},
): Report {
  const { error, warning } = findingCounts(differences);
  const counts = `${counted(error, "error")}, ${counted(warning, "warning")}`;
  return {
    ...head,
    verdict: failed ? `fails, ${counted(differences.length, "difference")}` : "passes",
    summary: plain(`${counts} in ${counted(endpoints, "endpoint")}`),
    sections: sectionsOf(
      differences,
      (one) => findingItem({ id: one.check, title: CHECKS[one.check].title }, one),
      20,
    ),
    blocks: [],
    json: {
      version: 2,
      failed,
      summary: { error, warning, endpoints },
      ...more,
      differences: differences.map((one) => ({
        ...one,
        message: plainText(one.message),
        hint: plainText(one.hint),
      })),
    },
  };
}
