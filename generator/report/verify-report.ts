import { findingCounts, SEVERITIES } from "../lint/finding.js";
import { plain } from "../manifest/strings.js";
import { CHECKS, type RatedMismatch } from "../verify/relations.js";
import { counted, grouped, HEADINGS, type Item, plainText, type Report } from "./report.js";

/** The differences between a catalogue of `endpoints` endpoints and the database. */
export function verifyReport(
  differences: readonly RatedMismatch[],
  endpoints: number,
  failed: boolean,
): Report {
  const { error, warning } = findingCounts(differences);
  const counts = `${counted(error, "error")}, ${counted(warning, "warning")}`;
  return {
    title: "API and database",
    verdict: failed ? `fails, ${counted(differences.length, "difference")}` : "passes",
    summary: plain(`${counts} in ${counted(endpoints, "endpoint")}`),
    notes: [],
    sections: SEVERITIES.map((severity) => ({
      heading: HEADINGS[severity],
      items: grouped(differences.filter((one) => one.severity === severity).map(itemOf)),
      open: 20,
    })),
    blocks: [],
    json: {
      version: 2,
      failed,
      summary: { error, warning, endpoints },
      differences: differences.map((one) => ({
        ...one,
        message: plainText(one.message),
        hint: plainText(one.hint),
      })),
    },
  };
}

function itemOf({ check, severity, endpoint, model, file, message, hint }: RatedMismatch): Item {
  return {
    level: severity,
    label: severity,
    id: check,
    title: CHECKS[check].title,
    endpoints: [endpoint],
    difference: null,
    location: [model, ...(file === null ? [] : [file])],
    file,
    details: [message, hint],
  };
}
