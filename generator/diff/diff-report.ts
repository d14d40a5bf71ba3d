import { acceptBlocks, acceptNotes } from "../report/accept-file.js";
import { type AcceptedChanges, changeCounts } from "./accepted-changes.js";
import { type Change, isFailing } from "./change.js";
import type { ShapesVerdict } from "./usage.js";
import { CHANGE_KINDS, CHANGE_SEVERITIES, type ChangeSeverity, KINDS } from "./change-kinds.js";
import { joined, plain, sentence, type Sentence } from "../manifest/strings.js";
import {
  counted,
  type Item,
  type Level,
  MAX_SHOWN,
  OPEN_ITEMS,
  type Report,
  type Section,
} from "../report/report.js";
import { requestsSection, shapesText, usageText } from "./usage-report.js";

/** A comparison with its names. */
export interface DiffResult extends AcceptedChanges {
  /** The revisions as they are shown: without the password of an address. */
  readonly base: string;
  readonly head: string;
  /** The accept file; it need not exist. */
  readonly acceptFile: string;
  readonly failed: boolean;
}

export function diffReport(result: DiffResult, shapes?: ShapesVerdict): Report {
  const { unaccepted, accepted, base, head, acceptFile } = result;
  return {
    title: "API changes",
    verdict: verdictText(result),
    summary: joined(plain(summaryText(result)), sentence`: from ${base} to ${head}`),
    notes: [
      ...(unaccepted.some(isFailing)
        ? [
            sentence`To accept a change, add its entry from \`--format markdown\` to ${acceptFile} with a reason.`,
          ]
        : []),
      ...acceptNotes(result, acceptFile, "change"),
      ...(shapes === undefined ? [] : [plain(shapesText(shapes))]),
    ],
    sections: [
      ...CHANGE_SEVERITIES.map((severity): Section => {
        const items = unaccepted
          .filter((change) => change.severity === severity)
          .map((change) => changeItem(change));
        return {
          heading: HEADINGS[severity],
          items,
          open: severity === "compatible" ? 0 : OPEN_ITEMS,
        };
      }),
      { heading: "Accepted", items: accepted.map(acceptedItem), open: 0 },
    ],
    ...(shapes && { requests: requestsSection(shapes) }),
    blocks: acceptBlocks(unaccepted.filter(isFailing), acceptFile),
    json: jsonOf(result, shapes),
  };
}

const HEADINGS = {
  exposing: "Exposing",
  breaking: "Breaking",
  warning: "Warnings",
  compatible: "Compatible",
} as const satisfies Record<ChangeSeverity, string>;

const LEVELS = {
  exposing: "error",
  breaking: "error",
  warning: "warning",
  compatible: "notice",
} as const satisfies Record<ChangeSeverity, Level>;

function verdictText(result: DiffResult): string {
  const { exposing, breaking, warning, compatible } = changeCounts(result);
  const all = exposing + breaking + warning + compatible;
  if (!result.failed)
    return all === 0
      ? "passes, nothing changed"
      : exposing + breaking === 0
        ? "passes"
        : "passes by --fail-on none";
  const causes = [
    ...(exposing === 0 ? [] : [counted(exposing, "exposing change")]),
    ...(breaking === 0 ? [] : [counted(breaking, "breaking change")]),
  ];
  return `fails, ${causes.length === 0 ? counted(all, "change") : causes.join(", ")}`;
}

function summaryText(result: DiffResult): string {
  const { exposing, breaking, warning, compatible } = changeCounts(result);
  const { accepted } = result;
  return [
    `${String(exposing)} exposing`,
    `${String(breaking)} breaking`,
    counted(warning, "warning"),
    `${String(compatible)} compatible`,
    ...(accepted.length === 0 ? [] : [`${String(accepted.length)} accepted`]),
  ].join(", ");
}

function changeItem(change: Change, label: string = change.severity): Item {
  const { kind, endpoint, tier, model, file, owner, details, usage } = change;
  return {
    level: LEVELS[change.severity],
    label,
    id: kind,
    title: KINDS[kind].title,
    endpoints: [endpoint],
    difference: differenceOf(change),
    location: [
      tier,
      model,
      ...(file === null ? [] : [file]),
      ...(owner === undefined ? [] : [`owner: ${owner}`]),
    ],
    file,
    details: [
      ...(change.severity === "compatible" ? [] : [plain(KINDS[kind].reason)]),
      ...details.map((detail) => ({ words: ["", ""], names: [detail] })),
      ...(usage === undefined ? [] : [usageText(usage)]),
    ],
  };
}

function acceptedItem({ found, suppression }: AcceptedChanges["accepted"][number]): Item {
  const item = changeItem(found, "accepted");
  return { ...item, level: "notice", details: [...item.details, sentence`Accepted: ${suppression.reason}`] };
}

/** `value: UInt32 → UInt64`, `value: was UInt64`, `value: now UInt64`; null where kind and endpoint say it all. */
export function differenceOf({ subject: name, before, after }: Change): Sentence | null {
  const [was, is] = before !== null && after !== null ? fromWhereTheyDiffer(before, after) : [before, after];
  if (was === null && is === null) return name === null ? null : sentence`${name}`;
  const lead = name === null ? plain("") : sentence`${name}: `;
  const values =
    was !== null && is !== null
      ? sentence`${was} → ${is}`
      : was !== null
        ? sentence`was ${was}`
        : sentence`now ${is ?? ""}`;
  return joined(lead, values);
}

/** Of the text that two long values have in common, this much is shown. */
const LEAD = 40;

/** Long values that begin alike, from a little before they differ, so that the difference is shown. */
function fromWhereTheyDiffer(before: string, after: string): readonly [string, string] {
  let common = 0;
  while (common < before.length && before[common] === after[common]) common++;
  const from = Math.max(before.length, after.length) > MAX_SHOWN ? common - LEAD : 0;
  return from <= 0 ? [before, after] : [`…${before.slice(from)}`, `…${after.slice(from)}`];
}

function jsonOf(result: DiffResult, usage: ShapesVerdict | undefined): unknown {
  const { base, head, unaccepted, accepted, unused, expired, failed } = result;
  const counts = CHANGE_KINDS.map(
    (kind) => [kind, unaccepted.filter((change) => change.kind === kind).length] as const,
  );
  return {
    version: 2,
    base,
    head,
    failed,
    summary: {
      ...changeCounts(result),
      accepted: accepted.length,
      merged: unused.length,
      expired: expired.length,
    },
    kinds: Object.fromEntries(counts.filter(([, count]) => count > 0)),
    changes: unaccepted,
    accepted: accepted.map(({ found, suppression }) => ({ ...found, reason: suppression.reason })),
    merged: unused,
    expired,
    ...(usage && { usage }),
  };
}
