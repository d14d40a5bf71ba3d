import {
  described,
  type Grain,
  GRAINS,
  mapOf,
  oneOf,
  record,
  type Schema,
  text,
  type ValueOf,
} from "@routewright/runtime/model";
import { HINT, NOUN } from "../../manifest/schema-errors.js";
import { reading, type Setting } from "./setting.js";

const EXAMPLE =
  "Write `rollup_of: {semantic_model: orders, group_by: {ordered_at: {column: day, grain: day}, country: country}, measures: {revenue: revenue_sum}}`.";

const group = {
  anyOf: [text, record({ column: text, grain: oneOf(GRAINS) })],
  [NOUN]: "a column, or a column with its grain",
  [HINT]: EXAMPLE,
} as unknown as Schema<string | { readonly column: string; readonly grain: Grain }>;

const schema = record({
  semantic_model: text,
  group_by: mapOf(group),
  measures: mapOf(text),
});

export type WrittenRollUp = ValueOf<typeof schema>;

/** That the model holds the totals of a semantic model's measures by group. What is wrong with it is reported once all models are known. */
export const rollUpOf: Setting<WrittenRollUp, undefined, unknown> = {
  isAdvisory: true,
  schema: {
    ...described(
      "totals of a semantic model by group: metrics are answered from them where they have all that is asked",
      schema,
    ),
    [NOUN]: "a semantic model, its groups and its measures",
    [HINT]: EXAMPLE,
  },
  read: () => reading([], () => undefined),
};
