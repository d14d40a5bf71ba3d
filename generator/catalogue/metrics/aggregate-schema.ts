import {
  type Aggregate,
  AGGREGATIONS,
  DATE_PARTS,
  FILTER_OPERATORS,
  GRAINS,
  VALUE_KINDS,
} from "@routewright/runtime/model";
import { flag, listOf, number, oneOf, openRecord, type Schema, text } from "@routewright/runtime/model";

const texts = listOf(text);
const grain = oneOf(GRAINS);
const pair: Schema = { type: "array", items: text, minItems: 2, maxItems: 2 };
const period = openRecord({ count: number, grain });
const metric: Schema = { $ref: "metric" };
const filters = listOf(
  listOf({
    anyOf: [text, openRecord({ dimension: text }, { grain }), openRecord({ metric, by: text, on: text })],
  } satisfies Schema),
);
const ownRows = openRecord({ column: text, equals: oneOf(["org"]) });

const leaf = openRecord(
  { kind: { const: "leaf" }, fact: text, aggregation: oneOf(AGGREGATIONS), filters },
  {
    value: text,
    percentile: number,
    time: text,
    converted: openRecord(
      { fact: text, value: text, time: text, on: listOf(pair), filters },
      { window: period },
    ),
    nonAdditive: openRecord({ dimension: text, choice: oneOf(["min", "max"]), groupings: texts }),
    fill: number,
    cumulative: openRecord(
      { periodAggregation: oneOf(["first", "last", "average"]) },
      { window: period, toGrain: grain },
    ),
  },
);

const formula = openRecord({
  kind: oneOf(["formula", "ratio"]),
  parts: listOf({ anyOf: [text, openRecord({ alias: text })] } satisfies Schema),
  inputs: listOf(
    openRecord(
      { alias: text, metric, filters },
      {
        offset: period,
        offsetToGrain: grain,
        offsetUnits: openRecord({ count: number, spine: text, value: text }),
      },
    ),
  ),
  filters,
});

const measure = openRecord(
  {
    name: text,
    groups: listOf(openRecord({ name: text }, { grains: listOf(grain), grain })),
    metric: { $id: "metric", anyOf: [leaf, formula] },
  },
  {
    condition: openRecord({
      column: text,
      operator: oneOf([...FILTER_OPERATORS.keys()]),
      value: { anyOf: [text, texts] },
    }),
  },
);

const join = openRecord(
  { to: text, on: listOf(pair) },
  { from: number, onFact: listOf(pair), valid: openRecord({ from: text, until: text }), grain },
);

/** The aggregate of an endpoint in `catalogue.json`. */
export const AGGREGATE_SCHEMA = openRecord(
  {
    of: oneOf(["measures", "metrics"]),
    relations: listOf(
      openRecord(
        { name: text, relation: pair, values: listOf(openRecord({ name: text })) },
        { rows: ownRows },
      ),
    ),
    facts: listOf(openRecord({ relation: text, joins: listOf(join) })),
    dimensions: listOf(
      openRecord(
        { name: text, places: listOf(openRecord({ fact: text, value: text }, { join: number })) },
        {
          grain,
          derived: openRecord({ time: text }, { part: oneOf(DATE_PARTS), spine: text, value: text }),
        },
      ),
    ),
    measures: listOf(measure),
    spines: listOf(openRecord({ relation: text, value: text, grain })),
    columns: listOf(openRecord({ name: text, type: { type: ["string", "null"] } })),
    filters: listOf(openRecord({ column: text, type: oneOf(VALUE_KINDS) })),
  },
  {
    rows: flag,
    saved: openRecord(
      {
        groups: listOf(openRecord({ key: text, name: text }, { grain })),
        filters,
        sort: listOf(pair),
      },
      { limit: number },
    ),
    rollUps: listOf(
      openRecord({
        of: text,
        node: text,
        relation: pair,
        groups: listOf(openRecord({ value: text, column: text }, { grain })),
        totals: listOf(openRecord({ aggregation: oneOf(AGGREGATIONS), value: text, column: text })),
      }),
    ),
  },
) as Schema as Schema<Aggregate>;
