/** What oasdiff says of the OpenAPI documents, and dbt of the contracts, of the same changes. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { ChangeKind } from "../../../generator/diff/change.js";
import { openApiText } from "../../../generator/render/openapi/document.js";
import { programPath } from "../../support/needs.js";
import type { Side } from "./sides.js";

/** Whether a tool says that each case breaks something, by the number of the case; null where the tool is not installed. */
export type BreakingCases = ReadonlySet<number> | null;

const ERROR = 3;

/** `go install github.com/oasdiff/oasdiff@latest`. */
export function oasdiffBreaking(base: Side, head: Side): BreakingCases {
  const folder = mkdtempSync(join(tmpdir(), "routewright-test-"));
  try {
    const [before, after] = [base, head].map(({ catalogue }, i) => {
      const file = join(folder, `${String(i)}.json`);
      writeFileSync(file, openApiText(catalogue));
      return file;
    }) as [string, string];
    const program = process.env["OASDIFF_PATH"] ?? "oasdiff";
    const text = output(program, ["changelog", before, after, "--format", "json"]);
    if (text === null) return null;
    const found = JSON.parse(text) as readonly { level: number; path?: string }[];
    return casesIn(found.flatMap(({ level, path = "" }) => (level === ERROR ? [path] : [])));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** dbt's `state:modified.contract`, by the code of the installed dbt. */
export function dbtBreaking(base: Side, head: Side): BreakingCases {
  const script = join(import.meta.dirname, "dbt-contracts.py");
  const input = JSON.stringify({ base: base.manifest, head: head.manifest });
  const text = output(join(dirname(programPath("dbt")), "python3"), [script], input);
  if (text === null) return null;
  const found = Object.entries(JSON.parse(text) as Record<string, string>);
  return casesIn(found.flatMap(([id, verdict]) => (verdict === "breaking" ? [id] : [])));
}

function output(program: string, args: readonly string[], input = ""): string | null {
  const run = spawnSync(program, args, { input, encoding: "utf8", maxBuffer: 1 << 28 });
  if (run.error !== undefined && "code" in run.error && run.error.code === "ENOENT") return null;
  if (run.status !== 0) throw new Error(`${program}: ${run.stderr}`);
  return run.stdout;
}

/** `/v1/r7/sales` and `model.r7.sales` are of case 7. */
function casesIn(names: readonly string[]): ReadonlySet<number> {
  return new Set(
    names.flatMap((name) => /(?:^\/v1\/|^model\.)r(\d+)[./]/.exec(name)?.slice(1).map(Number) ?? []),
  );
}

type Reasons = Partial<Record<ChangeKind, string>>;

const NOT_IN_OPENAPI = "Not in OpenAPI: ";
const ROWS = `${NOT_IN_OPENAPI}which rows an endpoint serves, and to whom.`;
const WARNED = "A warning here: ";

/** `diff` fails and oasdiff does not. */
const OASDIFF_SILENT: Reasons = {
  "column-digits-changed": `${NOT_IN_OPENAPI}how many digits a decimal has before its point.`,
  "column-exposed": `${NOT_IN_OPENAPI}whether a column holds private data.`,
  "column-retyped":
    "Text stays text, or a number a number, in JSON: client types and the form of values differ.",
  "column-scale-lowered": `${NOT_IN_OPENAPI}that values lose decimals.`,
  "column-zone-changed": `${NOT_IN_OPENAPI}the zone that a timestamp is meant in.`,
  "fields-removed": "oasdiff warns when a parameter goes; here it is refused with 400.",
  "filter-removed": "oasdiff warns when a parameter goes; here it is refused with 400.",
  "filter-type-changed": `${NOT_IN_OPENAPI}how a filter compares.`,
  "own-rows-added": ROWS,
  "own-rows-changed": ROWS,
  "own-rows-removed": ROWS,
  "pagination-disabled": "oasdiff warns when a parameter goes; here it is refused with 400.",
  "pagination-enabled": "A new default of `limit` cuts the rows of calls that name none.",
  "parameter-case-removed": `${NOT_IN_OPENAPI}that a filter folds letter case.`,
  "parameter-operator-changed": `${NOT_IN_OPENAPI}how a filter compares.`,
  "parameter-removed": "oasdiff warns when a parameter goes; here it is refused with 400.",
  "parameter-renamed": "oasdiff warns when a parameter goes; here it is refused with 400.",
  "private-endpoint-added": `${NOT_IN_OPENAPI}whether a column holds private data.`,
  "rows-exchanged": ROWS,
  "rows-exposed": ROWS,
  "sort-changed": `${NOT_IN_OPENAPI}the order of rows.`,
  "sunset-too-soon": "oasdiff asks for notice before a removal only with --deprecation-days.",
  "tier-lowered": ROWS,
  "tier-raised": ROWS,
  "unfiltered-allowed": "For oasdiff fewer required parameters are no break; here they open all rows.",
  "unfiltered-allowed-at-tier0":
    "For oasdiff fewer required parameters are no break; here they open all rows.",
};

/** oasdiff has an error and `diff` does not fail. */
const OASDIFF_ONLY: Reasons = {
  "accepted-values-widened": `${WARNED}a caller may send each value as before.`,
  "column-lengthened": `${WARNED}a longer text is still a text.`,
  "column-narrowed": "Every value that comes is one that could come before.",
  "column-null-test-removed": `${WARNED}a test watches the data and does not shape it.`,
  "column-number-changed": `${WARNED}a JSON number stays one; its digits may differ.`,
  "column-text-changed": `${WARNED}a text stays a text, of another length.`,
  "column-widened": `${WARNED}a JSON number stays one, in a wider range.`,
  "default-limit-raised": `${WARNED}pages get longer, within the documented limit.`,
  "fields-added": "Columns are optional in the document only for calls that choose others.",
  "parameter-takes-list": "One value is still accepted: oasdiff misses that it is one of the alternatives.",
  "range-widened": `${WARNED}a test watches the data and does not shape it.`,
};

const COLUMNS_ONLY = "A contract has columns, types and constraints, nothing of the API.";

/** `diff` fails and dbt's contract does not break. */
const DBT_SILENT: Reasons = {
  "column-exposed": "A new column keeps the contract; that it holds private data is not in it.",
  "column-retyped": "The type is the same, its form in JSON is set in `meta`.",
  "column-zone-changed": "The zone is set in `meta`.",
  "endpoint-removed": "dbt still builds the model, or its contract allows that it goes.",
};

interface Opinion {
  readonly breaks: boolean;
  /** Why it differs from the verdict of `diff`; empty where it does not, null where nobody knows. */
  readonly reason: string | null;
}

/** What `diff` reports of a case: the kinds of all changes, and of those that fail. */
export interface Reported {
  readonly kinds: readonly ChangeKind[];
  readonly failing: readonly ChangeKind[];
}

export function oasdiffOpinion(breaks: boolean, { kinds, failing }: Reported): Opinion {
  if (breaks === failing.length > 0) return { breaks, reason: "" };
  const [of, reasons] = breaks ? [kinds, OASDIFF_ONLY] : [failing, OASDIFF_SILENT];
  return { breaks, reason: reasonIn(reasons, of) };
}

export function dbtOpinion(breaks: boolean, { failing }: Reported): Opinion {
  if (breaks === failing.length > 0) return { breaks, reason: "" };
  if (!breaks) return { breaks, reason: reasonIn(DBT_SILENT, failing) ?? COLUMNS_ONLY };
  return {
    breaks,
    reason: "dbt compares the texts of types, names and constraints; callers see the same or a warning.",
  };
}

function reasonIn(reasons: Reasons, kinds: readonly ChangeKind[]): string | null {
  return kinds.map((kind) => reasons[kind]).find((reason) => reason !== undefined) ?? null;
}
