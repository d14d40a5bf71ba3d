import { type Edit, type Raw, routewright, row, type Row } from "./feature-model.js";

/** What callers of the model may ask by group. */
const AGGREGATE = {
  group_by: ["shop", "status", { column: "day", grains: ["day", "month"] }],
  measures: {
    sold: { agg: "sum", column: "quantity" },
    sales: { agg: "count" },
    paid: { agg: "count", filter: { column: "status", operator: "eq", value: "paid" } },
  },
};

/** The model has an aggregate. */
const grouped: Edit = (model) => routewright({ aggregate: structuredClone(AGGREGATE) })(model, {});
const aggregate =
  (change: (settings: Raw) => void): Edit =>
  (model) =>
    change(model.config.meta.routewright.aggregate);

const grouping = (
  change: string,
  edit: (settings: Raw) => void,
  there: readonly string[] | string,
  back: readonly string[] | string,
) => row(change, aggregate(edit), there, back, grouped);

/** Changes of what a model serves by group. */
export const AGGREGATE_CHANGES: readonly Row[] = [
  row(
    "the model is served by group, too",
    grouped,
    [
      "measure-added paid",
      "measure-added sales",
      "measure-added sold",
      "parameter-added group_by",
      "parameter-added measures",
    ],
    [
      "measure-removed paid",
      "measure-removed sales",
      "measure-removed sold",
      "parameter-removed group_by",
      "parameter-removed measures",
    ],
  ),
  grouping(
    "a measure goes",
    ({ measures }) => delete measures.sold,
    ["measure-removed sold"],
    ["measure-added sold"],
  ),
  grouping(
    "a group goes",
    ({ group_by }) => group_by.splice(0, 1),
    ["group-removed shop"],
    ["group-added shop"],
  ),
  grouping(
    "a grain of a group goes",
    ({ group_by }) => (group_by[2].grains = ["day"]),
    ["grain-removed day__month"],
    ["grain-added day__month"],
  ),
  grouping(
    "the finest grain of a group goes",
    ({ group_by }) => (group_by[2].grains = ["month"]),
    ["grain-removed day__day", "default-grain-changed day"],
    ["default-grain-changed day", "grain-added day__day"],
  ),
  grouping(
    "a time is grouped by its values",
    ({ group_by }) => (group_by[2] = "day"),
    [
      "grain-removed day__day",
      "grain-removed day__month",
      "default-grain-changed day",
      "column-narrowed day",
    ],
    ["default-grain-changed day", "column-retyped day", "grain-added day__day", "grain-added day__month"],
  ),
  grouping(
    "a measure aggregates in another way",
    ({ measures }) => (measures.sold.agg = "max"),
    ["meaning-changed sold", "column-digits-changed sold"],
    ["meaning-changed sold", "column-digits-changed sold"],
  ),
  grouping(
    "a measure aggregates another column",
    ({ measures }) => (measures.sold.column = "id"),
    ["meaning-changed sold"],
    ["meaning-changed sold"],
  ),
  grouping(
    "the filter of a measure has another value",
    ({ measures }) => (measures.paid.filter.value = "open"),
    ["meaning-changed paid"],
    ["meaning-changed paid"],
  ),
  grouping(
    "the filter of a measure goes",
    ({ measures }) => delete measures.paid.filter,
    ["meaning-changed paid"],
    ["meaning-changed paid"],
  ),
  grouping(
    "a measure is described in other words",
    ({ measures }) => (measures.sold.description = "Pieces sold."),
    ["description-changed column sold"],
    ["description-changed column sold"],
  ),
  grouping(
    "the rows themselves are no longer served",
    (settings) => (settings.rows = false),
    ["row-access-removed"],
    ["row-access-added"],
  ),
  row(
    "a group by a private column comes",
    aggregate(({ group_by }) => group_by.push("code")),
    ["group-exposed code"],
    ["group-removed code"],
    (model, manifest) => {
      grouped(model, manifest);
      model.config.meta.routewright.aggregate.rows = false;
      model.columns.code.meta = { pii: true };
    },
  ),
  row(
    "a group by a private column comes whose values the rows show",
    aggregate(({ group_by }) => group_by.push("code")),
    "group-added code",
    "group-removed code",
    (model, manifest) => {
      grouped(model, manifest);
      model.columns.code.meta = { pii: true };
    },
  ),
  row(
    "a grouped time is in another zone",
    routewright({ timezone: "Europe/Berlin" }),
    ["meaning-changed local_time", "column-zone-changed local_time"],
    ["meaning-changed local_time", "column-zone-changed local_time"],
    (model, manifest) => {
      grouped(model, manifest);
      aggregate(({ group_by }) => group_by.push({ column: "local_time", grains: ["day"] }))(model, manifest);
    },
  ),
];
