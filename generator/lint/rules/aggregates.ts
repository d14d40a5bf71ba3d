import {
  type Aggregate,
  type AggregateJoin,
  type AggregateRelation,
  type FixedFilter,
  leavesOf,
  type MetricTree,
  resultsIn,
} from "@routewright/runtime/model";
import { factsIn } from "../../catalogue/metrics/formula-text.js";
import { privateGroups } from "../../catalogue/metrics/private-groups.js";
import type { Model } from "../../manifest/model.js";
import { list, sentence } from "../../manifest/strings.js";
import { type Check, type CheckId, type LintContext, type LintedEndpoint, violation } from "../checks.js";

/** Rules about sums and counts by group. */
export const aggregateRules = {
  /** A metric that is grouped by private values, which its author has listed by name. */
  "private-group": ({ endpoint }) => {
    // Columns of a model have rules of their own; the highest tier may see what is private.
    if (endpoint.aggregate?.of !== "metrics" || endpoint.tier === "tier3") return [];
    const groups = endpoint.aggregate.measures.flatMap((measure) => measure.groups.map(({ name }) => name));
    const names = [...privateGroups(endpoint)].filter((name) => groups.includes(name));
    if (names.length === 0) return [];
    return violation(
      GROUP_BY,
      sentence`Callers of ${endpoint.tier} get private values as groups: ${list(names)}.`,
      "Take them out of `group_by`, tag the metric tier3, or suppress the rule with the reason.",
    );
  },
  /** A join that nothing proves to meet one row at most. */
  "unproven-join": (linted, context) => {
    const { aggregate } = linted.endpoint;
    const joins = (aggregate?.facts ?? []).flatMap(({ joins }) => joins);
    const unproven = joins.filter((join) => !isProven(join, aggregate, modelNamed(join.to, linted, context)));
    const names = [...new Set(unproven.map(({ to }) => to))];
    if (names.length === 0) return [];
    return violation(
      "$",
      sentence`No test or constraint proves that a row meets at most one of ${list(names)}: rows that meet two are counted twice.`,
      "Test the joined columns with `unique`, or declare a primary key; `verify` counts duplicates.",
    );
  },
  /** A group with as many values as there are rows. */
  "unique-group": (linted, context) => {
    const { aggregate } = linted.endpoint;
    const names = (aggregate?.measures ?? []).flatMap(({ groups, metric }) =>
      groups
        .filter(({ grains }) => grains === undefined)
        .map(({ name }) => name)
        .filter((name) => factsIn(metric).some((fact) => isUniqueGroup(name, fact, linted, context))),
    );
    if (names.length === 0) return [];
    return violation(
      aggregate?.of === "metrics" ? GROUP_BY : "$.config.meta.routewright.aggregate.group_by",
      sentence`Each row has a value of its own in ${list([...new Set(names)])}: groups by it are single rows.`,
      "Leave it out of `group_by`.",
    );
  },
  /** An expression whose days are those of the session. */
  "session-time-zone": ({ endpoint: { aggregate } }) => {
    const texts = aggregate === undefined ? [] : expressionsIn(aggregate);
    const found = texts.filter((text) => TRUNCATION.test(text));
    if (found.length === 0) return [];
    return violation(
      "$",
      sentence`An expression truncates a time, or converts it, in the time zone of the session: ${list([...new Set(found)])}.`,
      "Name the column, and let callers choose a grain: times are truncated in UTC, or in the column's `timezone`.",
    );
  },
} satisfies Partial<Record<CheckId, Check>>;

const GROUP_BY = "$.config.meta.routewright.group_by";

const TRUNCATION =
  /\bdate_trunc\s*\(|\bat\s+time\s+zone\b|\btimezone\s*\(|\btoStartOf\w+\s*\(|\btoTimeZone\s*\(|::\s*date\b|\bto(?:Date|YYYYMM\w*)\s*\(/i;

/** The dbt model of a relation: that of a semantic model, or the endpoint's own. */
function modelNamed(
  name: string,
  { model, endpoint }: LintedEndpoint,
  { project }: LintContext,
): Model | undefined {
  return endpoint.aggregate?.of === "metrics" ? project.semantic.get(name) : model;
}

function isProven(
  { to, on, onFact = [], valid }: AggregateJoin,
  aggregate: Aggregate | undefined,
  model: Model | undefined,
): boolean {
  const relation = aggregate?.relations.find(({ name }) => name === to);
  const keys = [...[...on, ...onFact].map(([, key]) => key), ...(valid === undefined ? [] : [valid.from])];
  const columns = keys.map((key) => columnOf(relation, key));
  return (
    model !== undefined &&
    isKey(
      columns.filter((column) => column !== null),
      model,
    )
  );
}

/** Whether some of the columns differ in every row. Rows without a key meet none. */
function isKey(columns: readonly string[], { provenKeys, columns: declared }: Model): boolean {
  const names = new Set(columns.map((column) => column.toLowerCase()));
  const isUnique = declared.some(
    ({ name, guarantees }) => guarantees.unique && names.has(name.toLowerCase()),
  );
  return isUnique || provenKeys.some((key) => key.every((name) => names.has(name.toLowerCase())));
}

/** The column that a value is; null for an expression. */
function columnOf(relation: AggregateRelation | undefined, value: string): string | null {
  const found = relation?.values.find(({ name }) => name === value);
  return found !== undefined && "column" in found ? found.column : null;
}

function isUniqueGroup(name: string, fact: string, linted: LintedEndpoint, context: LintContext): boolean {
  const { aggregate } = linted.endpoint;
  const places = aggregate?.dimensions.find((each) => each.name === name)?.places ?? [];
  const place = places.find((each) => each.fact === fact);
  const model = modelNamed(fact, linted, context);
  if (place === undefined || place.join !== undefined || model === undefined) return false;
  const column = columnOf(
    aggregate?.relations.find((each) => each.name === fact),
    place.value,
  );
  return column !== null && isKey([column], model);
}

/** Expressions of the project: of values, and the texts of fixed filters. */
function expressionsIn({ relations, measures, saved }: Aggregate): readonly string[] {
  const values = relations.flatMap((relation) =>
    relation.values.flatMap((value) => ("sql" in value ? [value.sql] : [])),
  );
  const filters = [
    ...measures.flatMap(({ metric }) => filtersIn(metric)),
    ...(saved?.filters ?? []).flatMap((filter) => [filter, ...comparedFilters([filter])]),
  ];
  return [...values, ...filters.flat().filter((part) => typeof part === "string")];
}

/** The filters of measures, and those of the metrics that these compare. */
const filtersIn = (metric: MetricTree): readonly FixedFilter[] =>
  leavesOf(metric).flatMap(({ filters }) => [...filters, ...comparedFilters(filters)]);

const comparedFilters = (filters: readonly FixedFilter[]): readonly FixedFilter[] =>
  resultsIn(filters).flatMap(({ metric }) => filtersIn(metric));
