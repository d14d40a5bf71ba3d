import { plain } from "../manifest/strings.js";
import { type Mismatch, MISMATCH_TITLES } from "../verify/relations.js";
import { counted, grouped, type Item, plainText, type Report } from "./report.js";

/** The differences between a catalogue of `endpoints` endpoints and the database. */
export function verifyReport(differences: readonly Mismatch[], endpoints: number): Report {
  const failed = differences.length > 0;
  return {
    title: "API and database",
    verdict: failed ? `fails, ${counted(differences.length, "difference")}` : "passes, no difference",
    summary: plain(`${counted(differences.length, "difference")} in ${counted(endpoints, "endpoint")}`),
    notes: [],
    sections: [{ heading: "Differences", items: grouped(differences.map(itemOf)), open: 20 }],
    blocks: [],
    json: {
      version: 1,
      failed,
      endpoints,
      differences: differences.map((one) => ({
        ...one,
        message: plainText(one.message),
        hint: plainText(one.hint),
      })),
    },
  };
}

function itemOf({ check, endpoint, model, file, message, hint }: Mismatch): Item {
  return {
    level: "error",
    label: "differs",
    id: check,
    title: MISMATCH_TITLES[check],
    endpoints: [endpoint],
    difference: null,
    location: [model, ...(file === null ? [] : [file])],
    file,
    details: [message, hint],
  };
}
