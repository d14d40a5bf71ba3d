import type { ServedEngine } from "../catalogue/types/type-in-copy.js";
import type { Tier } from "@routewright/runtime/model";
import type { CatalogueEntry, Warning } from "../catalogue/catalogue.js";
import type { SchemaMap } from "../catalogue/build.js";
import type { MaxAge } from "../catalogue/settings/max-age.js";
import type { Model } from "../manifest/model.js";
import { byText, plain, type Sentence } from "../manifest/strings.js";
import {
  bySeverity,
  error,
  type Finding,
  type FindingSeverity,
  ruleOf,
  type Severities,
  severityOf,
  warning,
} from "../report/finding.js";
import type { Ancestor, Node, DbtGraph } from "./dbt-graph.js";

/** A rule that a project turns on. */
const off = ruleOf("off");

/** Rules that a model or the config file can turn off (generator/docs/lint.md). */
export const CHECKS = {
  "private-data": error("Private data below its tier", "Callers read what the project marks as private."),
  "private-access": error(
    "Private model published",
    "`access: private` says that nobody outside its group may use the model.",
  ),
  "private-group": error("Group over private data", "Callers read values that the project marks as private."),
  "unfiltered-rows": error(
    "Rows of all organizations",
    "Callers read rows that an upstream model keeps apart by organization.",
  ),
  "unknown-key": error("Unknown key", "Nothing reads it: the setting that it means is not in force."),
  "reserved-parameter": error(
    "Parameter with a reserved name",
    "Callers cannot use it, or take it for paging, sorting or a choice of fields.",
  ),
  "forgotten-tag": warning(
    "Tag forgotten or misspelt",
    "The model looks published and has no endpoint; nothing else says so.",
  ),
  "period-in-resource": warning(
    "Grain or window in the resource",
    "The path says it twice, and cannot say another one for the same resource.",
  ),
  "several-granularities": warning("Several granularity tags", "All but the first are ignored."),
  "missing-granularity": off("No granularity tag", "The path does not say what a row is of."),
  "grain-without-column": warning(
    "Grain without its column",
    "Rows by day, week or month do not say which one they are of.",
  ),
  "missing-tier-tag": warning("No tier tag", "The endpoint has the default tier, which nobody chose for it."),
  "unexpected-schema": warning(
    "Relation in another schema",
    "The manifest may come from a developer's or CI target: the server would read tables that are not production's.",
  ),
  "higher-tier-data": warning("Data of a higher tier", "Lower-tier callers can read data of a higher tier."),
  "view-on-table": warning(
    "View on a table that dbt replaces",
    "dbt drops the view when it rebuilds the table; until it rebuilds the view, requests fail.",
  ),
  "unstable-pagination": warning(
    "Pages without a total order",
    "A caller that pages with `offset` can get some rows twice and miss others.",
  ),
  "no-row-key": off(
    "No columns identify a row",
    "Programs that read OData get a function in place of a table, whose rows they cannot refer to.",
  ),
  "unindexed-expression": off(
    "Expressions over columns without an index",
    "A request with nothing else reads the whole table.",
  ),
  "unlimited-response": warning(
    "Whole table in one response",
    "The response grows with the table until clients time out.",
  ),
  "zoneless-timestamp": warning(
    "Timestamp without a time zone",
    "It is served as UTC, which may not be what it means.",
  ),
  "float-money": warning("Money as floating point", "Sums and comparisons are wrong by fractions of a cent."),
  "unproven-join": warning(
    "Join whose other side may have duplicates",
    "Rows that meet two rows of it are counted twice.",
  ),
  "unique-group": warning(
    "Group of single rows",
    "Every row is a group of its own: the answer is as large as the table.",
  ),
  "session-time-zone": warning(
    "Truncation in the session's time zone",
    "Days and months follow the time zone of the role; the API truncates in UTC.",
  ),
  "unused-roll-up": warning("Roll-up that answers nothing", "Each request reads the rows themselves."),
  "numeric-without-digits": warning(
    "Decimal column without digits",
    "Parquet and Arrow have it as a text: a `sum()` of it fails in DuckDB, polars and pandas.",
  ),
  "aggregate-state": warning(
    "Column of aggregate states",
    "Each request computes the results, and filters, sorts and documentation know the states only.",
  ),
  "text-date-filter": warning(
    "Date filter on a text column",
    "It compares texts: only those that are ISO dates compare as dates.",
  ),
  "untyped-column": warning(
    "Columns without a type",
    "OpenAPI and typed clients know nothing about the values.",
  ),
  "missing-column": warning(
    "Declared column that the relation lacks",
    "Rows come without it, and filters by it fail.",
  ),
  "undeclared-column": warning(
    "Columns that no schema.yml declares",
    "The catalog has them, and rows come without them until they are declared.",
  ),
  "python-client-name": off(
    "Column that openapi-python-client cannot read",
    "Its classes have a variable or method of that name: reading or writing a row fails.",
  ),
  "missing-owner": off("No owner", "Nobody is named who answers for the endpoint."),
  "missing-title": off(
    "No title",
    "Pages and searches make one of the name, which may not say what it shows.",
  ),
  "undescribed-parameter": warning("Parameter without a description", "Callers see its name and type only."),
  "missing-description": warning(
    "Model or columns without a description",
    "Callers see names and types only, in every kind of documentation.",
  ),
  "past-sunset": warning("Sunset has passed", "Callers were told to leave, and the endpoint still answers."),
  "missing-sunset": warning(
    "Former path without a sunset",
    "Callers of it do not learn when they have to have moved.",
  ),
} as const;

export type CheckId = keyof typeof CHECKS;

/** All rules: the checks, models that cannot be checked, and how a model turns checks off. */
export const RULES = {
  "skipped-model": error(
    "Tagged model without an endpoint",
    "`generate` skips the model: its rows are not served.",
  ),
  ...CHECKS,
  "invalid-suppression": error("Invalid suppression", "The rule stays on, against what the model says."),
  "unused-suppression": warning("Unused suppression", "It would hide the next finding of the rule."),
  "private-mark-removed": error(
    "Mark of private data removed",
    "Callers can read what the base marks as private, and no rule asks for a tier any more.",
  ),
  "stale-baseline": error("Stale baseline entry", "It would hide the finding if it came back."),
} as const;

export type RuleId = keyof typeof RULES;
export const CHECK_IDS = Object.keys(CHECKS) as readonly CheckId[];
export const RULE_IDS = Object.keys(RULES) as readonly RuleId[];

export function isCheckId(text: string): text is CheckId {
  return Object.hasOwn(CHECKS, text);
}

export type RuleSeverities = Severities<RuleId, FindingSeverity>;

/** The severity of a rule that is in force; null where it is off. */
export function ruleSeverity(rule: RuleId, severities?: RuleSeverities): FindingSeverity | null {
  return severityOf<RuleId, FindingSeverity>(RULES, rule, severities);
}

/** What a rule finds in one model. */
export interface ModelFinding extends Finding<RuleId> {
  /** Where in the model's node, as a JSON path. */
  readonly path: string;
}

/** A violation of a rule: a finding without its rule and model. */
export type LintViolation = Pick<ModelFinding, "path" | "message" | "hint">;

/** One violation, as the list that a check returns. */
export function violation(
  path: string,
  message: Sentence | string,
  hint: Sentence | string,
): readonly LintViolation[] {
  return [{ path, message: sentenceOf(message), hint: sentenceOf(hint) }];
}

function sentenceOf(text: Sentence | string): Sentence {
  return typeof text === "string" ? plain(text) : text;
}

/** An endpoint with its model and everything upstream. */
export interface LintedEndpoint {
  readonly endpoint: CatalogueEntry;
  readonly model: Model;
  readonly node: Node;
  /** Everything that feeds it, nearest first. */
  readonly ancestors: readonly Ancestor[];
  /** Where its `meta.api` is in the node, as a JSON path. */
  readonly apiPath: string;
  /** What the catalogue warns of in the model. */
  readonly warnings: readonly Warning[];
}

/** Settings of a run. */
export interface LintSettings {
  /** Tier of an API model whose tags name none. */
  readonly defaultTier: Tier;
  /** The schemas that serve in place of the manifest's. */
  readonly schemas?: SchemaMap;
  readonly engine?: ServedEngine | undefined;
  readonly publicMaxAge?: MaxAge;
  readonly severities?: RuleSeverities;
  /** `YYYY-MM-DD`, for sunsets. */
  readonly today: string;
}

/** What all models of a run share. */
export interface LintContext extends LintSettings {
  readonly project: DbtGraph;
  /** The checks that are on. */
  readonly active: readonly CheckId[];
  /** What the catalogue warns of. */
  readonly warnings: readonly Warning[];
  readonly endpoints: readonly CatalogueEntry[];
  /** How many endpoints read from each schema. */
  readonly relationSchemas: ReadonlyMap<string, number>;
  /** How the names of published models begin; null where they have nothing in common. */
  readonly prefix: string | null;
}

export type Check = (linted: LintedEndpoint, context: LintContext) => readonly LintViolation[];

/** Errors first; each by rule, endpoint and model. Findings of one rule and model keep their order. */
export function inOrder(a: ModelFinding, b: ModelFinding): number {
  return (
    bySeverity(a, b) ||
    RULE_IDS.indexOf(a.rule) - RULE_IDS.indexOf(b.rule) ||
    byText(a.endpoint ?? "", b.endpoint ?? "") ||
    byText(a.model, b.model)
  );
}
