import type { Aggregate } from "@routewright/runtime/model";
import { listOf, openRecord, type Schema, text } from "../../manifest/json-schema.js";

const named = listOf(openRecord({ name: text }));

/** The aggregate of an endpoint in `catalogue.json`. What its parts hold is checked where statements are made from them. */
export const AGGREGATE_SCHEMA = openRecord({
  of: { enum: ["measures", "metrics"] },
  relations: named,
  facts: listOf(openRecord({ relation: text })),
  dimensions: named,
  measures: named,
  spines: listOf(openRecord({ relation: text })),
  columns: named,
  filters: listOf(openRecord({ column: text })),
}) as Schema as Schema<Aggregate>;
