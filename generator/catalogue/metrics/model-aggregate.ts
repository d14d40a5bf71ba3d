import type { Aggregate, AggregateGroup, AggregateValue, Leaf } from "@routewright/runtime/model";
import { columnNamed } from "@routewright/runtime/model";
import type { ModelColumn } from "../../manifest/model-columns.js";
import { knownColumns, type Model } from "../../manifest/model.js";
import type { CatalogueEntry } from "../catalogue.js";
import type { ModelAggregate, ModelMeasure } from "../settings/aggregate.js";
import { type DeclaredGroup, type DescribedMeasure, groupedColumns } from "./metric-columns.js";

type Filtered = Pick<CatalogueEntry, "relation" | "parameters" | "filters" | "rows" | "columns">;

/** The aggregate of a model: its relation with the columns that it groups, filters and measures. */
export function modelAggregate(
  model: Model,
  { groups, measures, servesRows }: ModelAggregate,
  entry: Filtered,
  isClickhouse: boolean,
): Aggregate {
  const { relation, parameters, filters = [], rows } = entry;
  const name = model.name;
  const asked: readonly AggregateGroup[] = groups.map(({ column, grains }) => ({
    name: column,
    ...(grains !== null && grains[0] !== undefined && { grains, grain: grains[0] }),
  }));
  const dimensions = [
    ...groups.map(({ column }) => column),
    ...parameters.map(({ column }) => column),
    ...filters.map(({ column }) => column),
    ...measures.flatMap(({ condition }) => condition?.column ?? []),
  ];
  const values = [
    ...dimensions,
    ...measures.flatMap(({ column }) => column ?? []),
    ...(rows ? [rows.column] : []),
  ];
  const shown = measures.map((measure) => describedMeasure(name, measure, asked));
  const columns = knownColumns(model);
  const types = {
    isClickhouse,
    group: (column: string) => describedColumn(columns, column),
    value: ({ value = "" }: Leaf) => describedColumn(columns, value).type,
  };
  return {
    of: "measures",
    relations: [
      {
        name,
        relation,
        values: [...new Set(values)].map((column) => valueOf(column, entry)),
        ...(rows && { rows }),
      },
    ],
    facts: [{ relation: name, joins: [] }],
    dimensions: [...new Set(dimensions)].map((column) => ({
      name: column,
      places: [{ fact: name, value: column }],
    })),
    measures: shown,
    spines: [],
    columns: groupedColumns(asked, shown, types),
    filters: [],
    ...(!servesRows && { rows: false as const }),
  };
}

function valueOf(column: string, { columns }: Filtered): AggregateValue {
  const { timezone } = columns.find(({ name }) => name === column) ?? {};
  return { name: column, column, ...(timezone !== undefined && { timezone }) };
}

function describedColumn(columns: readonly ModelColumn[], name: string): DeclaredGroup {
  const { type = null, description = "", isPrivate = false } = columnNamed(columns, name) ?? {};
  return { type, description, isPrivate };
}

function describedMeasure(
  fact: string,
  measure: ModelMeasure,
  groups: readonly AggregateGroup[],
): DescribedMeasure {
  const { name, column, aggregation, percentile, condition, description, label } = measure;
  return {
    name,
    ...(label !== "" && { label }),
    ...(description !== "" && { description }),
    ...(condition && { condition }),
    groups,
    metric: {
      kind: "leaf",
      fact,
      ...(column !== null && { value: column }),
      aggregation,
      ...(percentile !== undefined && { percentile }),
      filters: [],
    },
  };
}
