import {
  type Aggregation,
  compareGrains,
  FILTER_OPERATORS,
  type Grain,
  GRAINS,
  groupKey,
  isGrain,
  type MeasureCondition,
  ownValue,
} from "@routewright/runtime/model";
import type { ModelColumn } from "../../manifest/model-columns.js";
import {
  described,
  flag,
  listOf,
  mapOf,
  number,
  oneOf,
  openRecord,
  record,
  type Schema,
  text,
  type ValueOf,
} from "@routewright/runtime/model";
import { HINT, NOUN } from "../../manifest/schema-errors.js";
import { formatValue } from "../../manifest/strings.js";
import { jsonKindOf } from "../types/json-schema.js";
import { dataTypeOf } from "../types/read-type.js";
import type { RoutewrightContext } from "./context.js";
import { optionNameProblems } from "./option-names.js";
import { unknownColumn } from "./setting-columns.js";
import { invalid, reading, type Setting, type SettingProblem, type ValidPart } from "./setting.js";

const GROUP_HINT = "Write a column, or `{column: date, grains: [day, month]}`.";
const MEASURE_HINT = "Write `volume: {agg: sum, column: volume_usd}`.";

/** What `agg` may be, and the aggregation that it is. */
const AGGREGATIONS_OF = {
  sum: "sum",
  count: "count",
  count_distinct: "count_distinct",
  average: "average",
  avg: "average",
  min: "min",
  max: "max",
  median: "percentile",
  percentile: "percentile",
  sum_boolean: "sum_boolean",
} as const satisfies Record<string, Aggregation>;
type WrittenAggregation = keyof typeof AGGREGATIONS_OF;

const group = {
  anyOf: [text, record({ column: text }, { grains: listOf(oneOf(GRAINS)) })],
  [NOUN]: "a column, or a column with grains",
  [HINT]: GROUP_HINT,
} as unknown as Schema<string | { readonly column: string; readonly grains?: readonly Grain[] }>;

const value = { type: ["string", "number", "boolean", "array"] } as Schema;

const measure = record(
  {
    agg: described(
      "what the rows of a group are made to",
      oneOf(Object.keys(AGGREGATIONS_OF) as WrittenAggregation[]),
    ),
  },
  {
    column: text,
    p: described("of `percentile`: between 0 and 1", number),
    description: text,
    label: text,
    filter: described(
      "`{column, operator, value}`: only these rows count",
      record({ column: text, operator: oneOf([...FILTER_OPERATORS.keys()]) }, { value }),
    ),
  },
);

const aggregateSchema = openRecord(
  {
    measures: { ...described("what is asked of each group, by name", mapOf(measure)), [HINT]: MEASURE_HINT },
  },
  {
    group_by: described("columns that callers may group by, times with their grains", listOf(group)),
    rows: described("whether the rows themselves are served", flag, true),
  },
);

type Written = ValueOf<typeof aggregateSchema>;
type WrittenMeasure = ValidPart<ValueOf<typeof measure>>;

/** A measure of a model, before its relation is known. */
export interface ModelMeasure {
  readonly name: string;
  readonly column: string | null;
  readonly aggregation: Aggregation;
  readonly percentile?: number;
  readonly condition?: MeasureCondition;
  readonly description: string;
  readonly label: string;
}

/** `meta.routewright.aggregate` of a model. */
export interface ModelAggregate {
  readonly groups: readonly { readonly column: string; readonly grains: readonly Grain[] | null }[];
  readonly measures: readonly ModelMeasure[];
  readonly servesRows: boolean;
}

/** Sums and counts of the rows by group. */
export const aggregate: Setting<Written, ModelAggregate | undefined, RoutewrightContext> = {
  schema: {
    ...described(
      "callers ask for sums and counts by group: `?group_by=bridge,date__month&measures=volume`",
      aggregateSchema,
    ),
    [NOUN]: "groups and measures",
    [HINT]: "Write `aggregate: {group_by: [token], measures: {transfers: {agg: count}}}`.",
  },
  read: (written, context) => {
    if (written === undefined) return reading([], () => undefined);
    const problems = [
      ...nameProblems(written, context),
      ...optionNameProblems(groupKeys(written), Object.keys(written.measures ?? {}), context),
      ...groupProblems(written, context),
      ...measureProblems(written, context),
    ];
    return reading(problems, () => aggregateOf(written));
  },
};

const groupsOf = ({ group_by: groups = [] }: ValidPart<Written>) =>
  groups.flatMap((each) =>
    each === undefined
      ? []
      : [
          typeof each === "string"
            ? { column: each, grains: undefined }
            : (each as { column?: string; grains?: readonly Grain[] }),
        ],
  );

function aggregateOf(written: ValidPart<Written>): ModelAggregate {
  const measures = Object.entries(written.measures ?? {}) as [string, WrittenMeasure][];
  return {
    groups: groupsOf(written).map(({ column = "", grains }) => ({
      column,
      grains: grains?.toSorted(compareGrains) ?? null,
    })),
    measures: measures.map(([name, each]) => measureOf(name, each)),
    servesRows: written.rows !== false,
  };
}

function measureOf(name: string, written: WrittenMeasure): ModelMeasure {
  const { agg = "count", column, p, description = "", label = "", filter } = written;
  const aggregation = AGGREGATIONS_OF[agg];
  return {
    name,
    column: column ?? null,
    aggregation,
    ...(aggregation === "percentile" && { percentile: agg === "median" ? 0.5 : (p ?? 0.5) }),
    ...(filter && { condition: conditionOf(filter) }),
    description,
    label,
  };
}

function conditionOf({
  column = "",
  operator = "eq",
  value: given,
}: NonNullable<WrittenMeasure["filter"]>): MeasureCondition {
  const values = Array.isArray(given) ? given.map(String) : String(given);
  return {
    column,
    operator,
    value: operator === "in" ? [values].flat() : values,
  };
}

/** Names of the groups in rows. */
const groupKeys = (written: ValidPart<Written>): readonly string[] =>
  groupsOf(written).flatMap(({ column = "", grains = [] }) => [
    column,
    ...grains.map((grain) => groupKey(column, grain)),
  ]);

/** Names of parameters that choose groups: another parameter or column of the name would hide them. */
const RESERVED = ["group_by", "measures", "metrics"];

function nameProblems(
  written: ValidPart<Written>,
  { api, columns }: RoutewrightContext,
): readonly SettingProblem[] {
  const taken = RESERVED.filter(
    (name) =>
      api?.parameters.some((each) => each.name === name) || columns.some((each) => each.name === name),
  );
  const measures = Object.keys(written.measures ?? {});
  const repeated = [...groupKeys(written), ...measures].filter((name, i, all) => all.indexOf(name) < i);
  return [
    ...taken.flatMap((name) =>
      invalid(
        "aggregate",
        `A parameter or a column has the name ${formatValue(name)}, by which callers choose groups.`,
        "Rename it.",
      ),
    ),
    ...repeated.flatMap((name) =>
      invalid(
        "aggregate",
        `${formatValue(name)} is the name of two groups or measures.`,
        "Rename one of them.",
      ),
    ),
    ...(measures.length === 0 ? invalid("aggregate.measures", "There are no measures.", MEASURE_HINT) : []),
    ...measures
      .filter((name) => !/^[A-Za-z_]\w*$/.test(name))
      .flatMap((name) =>
        invalid(
          "aggregate.measures",
          `${formatValue(name)} is not a name of a measure.`,
          "Use letters, digits and `_`.",
        ),
      ),
  ];
}

function groupProblems(
  written: ValidPart<Written>,
  { columns }: RoutewrightContext,
): readonly SettingProblem[] {
  return (written.group_by ?? []).flatMap((each, i) => {
    if (each === undefined) return [];
    const { column, grains = [] } =
      typeof each === "string" ? { column: each } : (each as { column?: string; grains?: readonly Grain[] });
    const at = `aggregate.group_by[${String(i)}]`;
    const unknown = unknownColumn(column, at, columns);
    const type = columns.find(({ name }) => name === column)?.type ?? null;
    return unknown.length > 0 ? unknown : grainProblems(grains, type, at);
  });
}

function grainProblems(grains: readonly Grain[], type: string | null, at: string): readonly SettingProblem[] {
  const kind = jsonKindOf(dataTypeOf(type));
  if (grains.length === 0 || kind === "unknown" || kind === "dateTime") return [];
  if (kind !== "date")
    return invalid(
      at,
      `A column of type ${formatValue(type)} has no grains.`,
      "Give grains to a date or a timestamp.",
    );
  const finer = grains.filter((grain) => isGrain(grain) && compareGrains(grain, "day") < 0);
  return finer.length === 0 ? [] : invalid(at, `${finer.join(", ")} is finer than a date.`, "Leave it out.");
}

function measureProblems(
  { measures = {} }: ValidPart<Written>,
  { columns }: RoutewrightContext,
): readonly SettingProblem[] {
  return Object.entries<WrittenMeasure | undefined>(measures).flatMap(([name, each]) => {
    if (each === undefined) return [];
    const at = `aggregate.measures.${name}`;
    const column = columns.find((one) => one.name === each.column);
    return [
      ...unknownColumn(each.column, `${at}.column`, columns),
      ...unknownColumn(each.filter?.column, `${at}.filter.column`, columns),
      ...(each.column === undefined && each.agg !== "count"
        ? invalid(at, `${formatValue(each.agg)} needs a column.`, MEASURE_HINT)
        : []),
      ...percentileProblems(each, at),
      ...(column === undefined || each.agg === undefined ? [] : columnProblems(column, each.agg, at)),
      ...(each.filter !== undefined && each.filter.value === undefined
        ? invalid(`${at}.filter`, "The filter has no value.", "Write `{column, operator, value}`.")
        : []),
    ];
  });
}

function percentileProblems({ agg, p }: WrittenMeasure, at: string): readonly SettingProblem[] {
  if (agg !== "percentile") return [];
  return p !== undefined && p >= 0 && p <= 1
    ? []
    : invalid(`${at}.p`, "`p` is not between 0 and 1.", "Write `p: 0.95`.");
}

/** Types of columns that an aggregation takes; others take any. */
const KINDS: Partial<Record<WrittenAggregation, readonly string[]>> = {
  sum: ["integer", "decimal", "float", "unknown"],
  average: ["integer", "decimal", "float", "unknown"],
  avg: ["integer", "decimal", "float", "unknown"],
  median: ["integer", "decimal", "float", "unknown"],
  percentile: ["integer", "decimal", "float", "unknown"],
  sum_boolean: ["boolean", "unknown"],
};

function columnProblems(
  { name, type }: ModelColumn,
  agg: WrittenAggregation,
  at: string,
): readonly SettingProblem[] {
  const kind = jsonKindOf(dataTypeOf(type));
  return ownValue(KINDS, agg)?.includes(kind) !== false
    ? []
    : invalid(
        at,
        `${formatValue(agg)} cannot aggregate ${formatValue(name)}, which is ${formatValue(type)}.`,
        "Aggregate another column.",
      );
}
