import { plain, sentence } from "../manifest/strings.js";
import { acceptBlocks, type AcceptEntry, acceptNotes } from "../report/accept-file.js";
import { countsOf, FINDING_SEVERITIES } from "../report/finding.js";
import { findingItem, sectionsOf } from "../report/finding-items.js";
import { counted, type Item, plainText, type Report } from "../report/report.js";
import type { Suppressed } from "../report/suppressions.js";
import { CHECKS, type VerifyFinding } from "./checks.js";

/** The differences of a run, by the accept file. */
export type VerifyOutcome = Suppressed<VerifyFinding, AcceptEntry>;

interface ReportFacts extends Pick<Report, "title" | "notes"> {
  readonly endpoints: number;
  readonly failed: boolean;
  readonly acceptFile: string;
}

/** The differences between a catalogue of `endpoints` endpoints and what it is compared with. `more`: further members of the JSON. */
export function verifyReport(
  { endpoints, failed, acceptFile, ...head }: ReportFacts,
  outcome: VerifyOutcome,
  more: Readonly<Record<string, unknown>> = {},
): Report {
  const { unaccepted, accepted, unused, expired } = outcome;
  const { error, warning } = countsOf(FINDING_SEVERITIES, unaccepted);
  const counts = `${counted(error, "error")}, ${counted(warning, "warning")} in ${counted(endpoints, "endpoint")}`;
  return {
    ...head,
    notes: [...head.notes, ...acceptNotes(outcome, acceptFile, "difference")],
    verdict: failed ? `fails, ${counted(unaccepted.length, "difference")}` : "passes",
    summary: plain(accepted.length === 0 ? counts : `${counts}; ${String(accepted.length)} accepted`),
    sections: [
      ...sectionsOf(unaccepted, itemOf, 20),
      { heading: "Accepted", items: accepted.map(acceptedItem), open: 0 },
    ],
    blocks: acceptBlocks(unaccepted, acceptFile),
    json: {
      version: 2,
      failed,
      summary: { error, warning, endpoints, accepted: accepted.length },
      ...more,
      differences: unaccepted.map(differenceJson),
      accepted: accepted.map(({ found, suppression }) => ({
        ...differenceJson(found),
        reason: suppression.reason,
      })),
      unused,
      expired,
    },
  };
}

function itemOf(found: VerifyFinding): Item {
  return findingItem({ id: found.rule, title: CHECKS[found.rule].title }, found);
}

function acceptedItem({ found, suppression }: VerifyOutcome["accepted"][number]): Item {
  const item = itemOf(found);
  return {
    ...item,
    level: "notice",
    label: "accepted",
    details: [...item.details, sentence`Accepted: ${suppression.reason}`],
  };
}

function differenceJson({
  severity,
  rule,
  endpoint,
  model,
  file,
  owner,
  subject,
  message,
  hint,
}: VerifyFinding) {
  return {
    severity,
    check: rule,
    endpoint,
    model,
    file,
    ...(owner !== undefined && { owner }),
    subject,
    message: plainText(message),
    hint: plainText(hint),
  };
}
