import { isFilterName, OPTION_FIELDS, TIERS, type Tier } from "@routewright/runtime/model";
import type { Change } from "./change.js";
import { type ChangeKind, type ChangeSeverity, KINDS } from "./change-kinds.js";

/** What one key has called at one path, or in one shape. */
export interface KeyUsage {
  org: string;
  requests: number;
  readonly byParameter: Map<string, number>;
  /** Absent where requests of all forms are counted together. */
  readonly form?: Form;
}

/** What a shape says beside its parameters. */
export interface Form {
  readonly method: string;
  readonly format: string;
  readonly tier: string;
  /** It asks for groups or totals, not for rows. */
  readonly isGrouped: boolean;
}

/**
 * What becomes of requests: `broken`: they fail, or what their answer promised has gone; `changed`: the answer may differ;
 * `unaffected`: neither.
 */
export const SHAPE_OUTCOMES = ["broken", "changed", "unaffected"] as const;
export type ShapeOutcome = (typeof SHAPE_OUTCOMES)[number];

const OUTCOME_OF = {
  exposing: "changed",
  breaking: "broken",
  warning: "changed",
  compatible: "unaffected",
} as const satisfies Record<ChangeSeverity, ShapeOutcome>;

/** Where the kind's severity says of requests that are made already another thing than of callers and data. */
const OUTCOMES_OF_KINDS: Readonly<Partial<Record<ChangeKind, ShapeOutcome>>> = {
  "endpoint-retired": "broken",
  "row-access-added": "broken",
  "path-moved-with-notice": "changed",
  "sunset-put-off": "changed",
  "private-mark-removed": "unaffected",
  "filter-exposed": "unaffected",
  "tier-lowered": "unaffected",
  "column-exposed": "unaffected",
  "group-exposed": "unaffected",
  "measure-exposed": "unaffected",
  "private-endpoint-added": "unaffected",
  "unfiltered-allowed": "unaffected",
  "unfiltered-allowed-at-tier0": "unaffected",
  "stability-lowered": "unaffected",
  "freshness-loosened": "changed",
  "failed-tests-served": "changed",
  "sunset-too-soon": "changed",
  "gone-too-soon": "changed",
  "plan-tier-raised": "unaffected",
  "plan-paths-added": "unaffected",
};

/** What becomes of the requests that a change of a kind hits. */
export function outcomeOf(kind: ChangeKind): ShapeOutcome {
  return OUTCOMES_OF_KINDS[kind] ?? OUTCOME_OF[KINDS[kind].severity];
}

type HitRule = (usage: KeyUsage) => number;

/** Of a change: its subject and what is there after it. */
interface HitChange {
  readonly name: string;
  readonly after: string;
}

/** Which calls a kind of change hits: those with a parameter, those that filter a column or get one; all others hit every call. */
const HITS: Readonly<Partial<Record<ChangeKind, (change: HitChange) => HitRule>>> = {
  "tier-raised": ({ after }) => formed(({ tier }) => !isWithin(tier, after)),
  "method-removed": ({ name }) => formed(({ method }) => method === name),
  "response-mode-changed": () => formed(({ format }) => format === "json"),
  "require-any-of-added": withoutAny,
  "require-any-of-narrowed": withoutAny,
  "unfiltered-refused": () => isUnfiltered,
  "row-access-removed": () => rowsAsked,
  "row-access-added": () => totalsAsked,
  "pagination-enabled": () => without("limit"),
  "default-limit-lowered": () => without("limit"),
  "parameter-removed": ({ name }) => named(name),
  "parameter-column-changed": ({ name }) => named(name),
  "parameter-operator-changed": ({ name }) => named(name),
  "parameter-values-narrowed": ({ name }) => named(name),
  "parameter-case-removed": ({ name }) => named(name),
  "max-items-lowered": ({ name }) => named(name),
  "max-length-lowered": ({ name }) => named(name),
  "filter-removed": ({ name }) => filtered(name),
  "filter-type-changed": ({ name }) => filtered(name),
  "fields-removed": () => named("fields"),
  "require-fresh-removed": () => named("require_fresh"),
  "expression-removed": () => named("filter"),
  "cursor-changed": () => named("cursor"),
  "cursor-removed": () => named("cursor"),
  "sortable-field-removed": () => named("sort_by"),
  "max-limit-lowered": () => named("limit"),
  "measure-removed": ({ name }) => measured(name),
  "group-removed": ({ name }) => grouped(name),
  "grain-removed": ({ name }) => grouped(name),
  "default-grain-changed": ({ name }) => grouped(name),
  "meaning-changed": ({ name }) => (name === "" ? ({ requests }) => requests : meant(name)),
  "column-removed": ({ name }) => served(name),
  "column-retyped": ({ name }) => served(name),
  "column-digits-changed": ({ name }) => served(name),
  "column-scale-lowered": ({ name }) => served(name),
  "column-made-nullable": ({ name }) => served(name),
  "column-order-changed": () => formed(({ format }) => format === "csv"),
  "parameter-case-added": ({ name }) => named(name),
  "parameter-takes-list": ({ name }) => named(name),
  "default-limit-raised": () => without("limit"),
};

/** Calls whose names were too many to be counted one by one may use any. */
const OTHER = "*";

function named(name: string): HitRule {
  return ({ byParameter }) => (byParameter.get(name) ?? 0) + (byParameter.get(OTHER) ?? 0);
}

function filtered(column: string): HitRule {
  return ({ byParameter }) =>
    [...byParameter]
      .filter(([name]) => name === OTHER || name === `filter=${column}` || name.startsWith(`${column}[`))
      .reduce((sum, [, requests]) => sum + requests, 0);
}

/** Calls that ask for a measure by its name, or for all. */
function measured(name: string): HitRule {
  return ({ byParameter }) =>
    ["measures", "metrics"].reduce((sum, of) => sum + (byParameter.get(`${of}=${name}`) ?? 0), 0) +
    (byParameter.get(OTHER) ?? 0);
}

/** Calls that group or filter by a name, also by one of its grains. */
function grouped(name: string): HitRule {
  const isOf = (asked: string): boolean =>
    asked === OTHER ||
    asked === name ||
    asked.startsWith(`${name}[`) ||
    asked === `group_by=${name}` ||
    asked.startsWith(`group_by=${name}__`);
  return ({ byParameter }) =>
    [...byParameter].filter(([asked]) => isOf(asked)).reduce((sum, [, requests]) => sum + requests, 0);
}

/** The name is that of a measure or of a group. */
function meant(name: string): HitRule {
  const [ofMeasure, ofGroup] = [measured(name), grouped(name)];
  return (usage) => ofMeasure(usage) + ofGroup(usage);
}

/** Calls of a form; all, where requests of all forms are counted together. */
function formed(isHit: (form: Form) => boolean): HitRule {
  return ({ requests, form }) => (form === undefined || isHit(form) ? requests : 0);
}

function isWithin(tier: string, required: string): boolean {
  return TIERS.indexOf(tier as Tier) >= TIERS.indexOf(required as Tier);
}

/** Calls with none of the names that are required now: those of a shape come together. */
function withoutAny({ after }: HitChange): HitRule {
  const needed = after.split(", ");
  return ({ requests, byParameter, form }) =>
    form !== undefined && needed.some((name) => byParameter.has(name)) ? 0 : requests;
}

function isUnfiltered({ requests, byParameter, form }: KeyUsage): number {
  const names = [...byParameter.keys()].filter((name) => !name.includes("="));
  const isFiltered = names.some((name) => isFilterName(name) && !CHANGING_GROUPS.has(name));
  return form !== undefined && isFiltered ? 0 : requests;
}

const CHANGING_GROUPS: ReadonlySet<string> = new Set(OPTION_FIELDS);

const rowsAsked = formed(({ isGrouped }) => !isGrouped);

/** Calls that name neither groups nor measures. */
const totalsAsked: HitRule = ({ requests, byParameter }) =>
  ["group_by", "measures", "metrics"].some((name) => byParameter.has(name)) ? 0 : requests;

function without(name: string): HitRule {
  return ({ requests, byParameter }) =>
    requests - (byParameter.get(name) ?? 0) + (byParameter.get(OTHER) ?? 0);
}

/** Calls for rows get a column unless they choose others. */
function served(column: string): HitRule {
  return (usage) => {
    const countOf = (name: string): number => usage.byParameter.get(name) ?? 0;
    return rowsAsked(usage) - countOf("fields") + countOf(`fields=${column}`) + countOf(OTHER);
  };
}

/** How many of these requests a change hits. */
export function hitsOf({ kind, subject, after }: Change, usage: KeyUsage): number {
  const rule = HITS[kind]?.({ name: subject ?? "", after: after ?? "" });
  return rule === undefined ? usage.requests : Math.min(usage.requests, Math.max(0, rule(usage)));
}
