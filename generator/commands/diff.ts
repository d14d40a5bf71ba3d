import { existsSync } from "node:fs";
import { parseAccept, type AcceptReading } from "../diff/accept.js";
import { compareSnapshots } from "../diff/compare-snapshots.js";
import { formatReport } from "../report/diff/report.js";
import { crosses, judge } from "../diff/judgement.js";
import type { FailOn } from "../diff/options.js";
import type { Format } from "../report/format.js";
import { readSide, type SideOptions } from "../diff/sides/side.js";
import { readSource } from "../manifest/source.js";
import { EXIT, type Outcome } from "./outcome.js";

/** Read when it is there and `--accept` names no other. */
const ACCEPT_FILE = ".routewright-accept.json";

export interface DiffOptions extends SideOptions {
  /** Each side as `readSide` takes it. */
  readonly base: string;
  readonly head: string;
  readonly format: Format;
  readonly failOn: FailOn;
  /** The accept file; it must exist when it is named. */
  readonly accept?: string;
  /** The date by which accepted changes expire, `YYYY-MM-DD`. */
  readonly today: string;
}

/** `routewright diff`: what consumers of the base will notice in the head. */
export async function diff(options: DiffOptions): Promise<Outcome> {
  const [base, head, accept] = await Promise.all([
    readSide(options.base, options),
    readSide(options.head, options),
    readAccept(options.accept),
  ]);
  const problems = [base, head, accept].flatMap((reading) => (reading.ok ? [] : reading.problems));
  if (!base.ok || !head.ok || !accept.ok) return { exit: EXIT.error, errors: [...new Set(problems)] };
  const judgement = judge(
    compareSnapshots(base.snapshot, head.snapshot, options.today),
    accept.entries,
    options.today,
  );
  const report = {
    ...judgement,
    base: shownSide(options.base),
    head: shownSide(options.head),
    acceptFile: accept.file,
  };
  return {
    exit: crosses(judgement, options.failOn) ? EXIT.findings : EXIT.ok,
    output: formatReport(report, options.format),
    notes: [...base.snapshot.warnings, ...head.snapshot.warnings].map((warning) => `warning: ${warning}`),
  };
}

type NamedAcceptReading = AcceptReading & { readonly file: string | null };

async function readAccept(named: string | undefined): Promise<NamedAcceptReading> {
  const file = named ?? (existsSync(ACCEPT_FILE) ? ACCEPT_FILE : null);
  if (file === null) return { ok: true, entries: [], file };
  if (!existsSync(file))
    return { ok: false, problems: [`There is no file ${file}, which --accept names.`], file };
  const source = await readSource(file);
  return {
    ...(source.ok ? parseAccept(source.text, file) : { ok: false, problems: [source.problem] }),
    file,
  };
}

/** An address without what may be secret in it: user, password and query. */
function shownSide(argument: string): string {
  if (!/^https?:/i.test(argument) || !URL.canParse(argument)) return argument;
  const { origin, pathname } = new URL(argument);
  return origin + pathname;
}
