import { jsonText } from "../../render/openapi/json-text.js";
import type { AcceptEntry } from "../../diff/accept.js";
import { type Change, CHANGE_KINDS, severityOf } from "../../diff/change.js";
import { countsOf } from "../../diff/judgement.js";
import type { Report } from "./report.js";

/** The report for programs; `REPORT_SCHEMA` describes it. Texts are whole and as the manifest has them. */
export function jsonReport(report: Report): string {
  const { base, head, open, accepted, stale } = report;
  const summary = { ...countsOf(report), accepted: accepted.length, stale: stale.length };
  return `${jsonText({
    version: 1,
    base,
    head,
    summary,
    kinds: kindCounts(open),
    changes: open.map(changeJson),
    accepted: accepted.map(({ change, entry }) => ({ ...changeJson(change), ...grounds(entry) })),
    stale: stale.map(({ entry, why }) => {
      return { kind: entry.kind, endpoint: entry.endpoint, ...grounds(entry), why };
    }),
  })}\n`;
}

/** Open changes by kind, kinds without any left out. */
function kindCounts(open: readonly Change[]): Readonly<Record<string, number>> {
  const counts = CHANGE_KINDS.map(
    (kind) => [kind, open.filter((change) => change.kind === kind).length] as const,
  );
  return Object.fromEntries(counts.filter(([, count]) => count > 0));
}

function changeJson(change: Change) {
  const { kind, endpoint, model, file, tier, subject, before, after, details } = change;
  return { severity: severityOf(change), kind, endpoint, model, file, tier, subject, before, after, details };
}

function grounds({ reason, expires }: AcceptEntry) {
  return { reason, expires };
}
