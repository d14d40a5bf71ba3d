import { existsSync, writeFileSync } from "node:fs";
import { ACCEPT_FILE, type AcceptEntry, parseAccept, prunedText } from "../diff/accepted-changes.js";
import { compareCatalogues, type SeverityOverrides } from "../diff/compare-catalogues.js";
import { readRevision, type RevisionOptions } from "../diff/revision.js";
import { type FailOn, judge, shouldFail } from "../diff/verdict.js";
import { readSource, shownLocation } from "../manifest/source.js";
import { diffReport } from "../report/diff-report.js";
import { MINIMUM_NOTICE_DAYS } from "../policy.js";
import { renderReport } from "../report/render.js";
import type { Format } from "../report/report.js";
import type { Terminal } from "../report/text.js";
import { EXIT, type Outcome } from "./outcome.js";

export interface DiffOptions extends RevisionOptions {
  /** Revisions as `readRevision` takes them. */
  readonly base: string;
  readonly head: string;
  readonly format: Format;
  readonly failOn: FailOn;
  /** The accept file; it must exist when it is named. */
  readonly accept?: string | undefined;
  /** Whether to remove the entries of the accept file that match no change. */
  readonly prune?: boolean;
  readonly severities?: SeverityOverrides;
  readonly minimumNoticeDays?: number;
  /** `YYYY-MM-DD`: sunsets and accept entries are judged by it. */
  readonly today: string;
  readonly terminal?: Terminal;
}

/** `routewright diff`: the changes that consumers of the base see in the head. */
export async function diff(options: DiffOptions): Promise<Outcome> {
  const { failOn, today, minimumNoticeDays = MINIMUM_NOTICE_DAYS } = options;
  const [base, head, accept] = await Promise.all([
    readRevision(options.base, options),
    readRevision(options.head, options),
    readAccept(options.accept),
  ]);
  if (!base.ok || !head.ok || !accept.ok) {
    const revisions = [base, head].flatMap((reading) => (reading.ok ? [] : [reading.problem]));
    return { exit: EXIT.error, errors: [...new Set([...revisions, ...(accept.ok ? [] : accept.problems)])] };
  }
  const calendar = { today, minimumNoticeDays };
  const changes = compareCatalogues(base.catalogue, head.catalogue, calendar, options.severities);
  const verdict = judge(changes, accept.entries, today);
  const failed = shouldFail(verdict, failOn);
  const names = {
    base: shownLocation(options.base),
    head: shownLocation(options.head),
    acceptFile: accept.file,
  };
  const report = diffReport({ ...verdict, ...names, failed });
  const pruned = options.prune ? prune(accept, verdict.merged) : [];
  return {
    exit: failed ? EXIT.findings : EXIT.ok,
    output: renderReport(report, options.format, options.terminal),
    notes: [...base.warnings, ...head.warnings].map((warning) => `warning: ${warning}`).concat(pruned),
  };
}

interface AcceptFile {
  readonly ok: true;
  readonly file: string;
  /** Null where there is no file. */
  readonly text: string | null;
  readonly entries: readonly AcceptEntry[];
}

async function readAccept(
  named: string | undefined,
): Promise<AcceptFile | { readonly ok: false; readonly problems: readonly string[] }> {
  const file = named ?? ACCEPT_FILE;
  if (!existsSync(file)) {
    if (named === undefined) return { ok: true, file, text: null, entries: [] };
    return { ok: false, problems: [`There is no accept file ${file}.`] };
  }
  const source = await readSource(file);
  if (!source.ok) return { ok: false, problems: [source.problem] };
  const reading = parseAccept(source.text, file);
  return reading.ok ? { ok: true, file, text: source.text, entries: reading.entries } : reading;
}

function prune({ file, text }: AcceptFile, merged: readonly AcceptEntry[]): readonly string[] {
  if (text === null || merged.length === 0) return [`${file}: nothing to prune`];
  writeFileSync(file, prunedText(text, merged));
  return [`${file}: removed ${String(merged.length)} ${merged.length === 1 ? "entry" : "entries"}`];
}
