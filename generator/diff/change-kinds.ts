import { ruleOf, type Severities, warning } from "../report/finding.js";
import { DEPRECATION_KINDS } from "./deprecation-kinds.js";
import { PLAN_KINDS } from "./plan-kinds.js";
import { PROMISE_KINDS } from "./promise-kinds.js";

/**
 * What a change means to API consumers and to those who own the data: `exposing` opens data to callers who could not
 * read it, `breaking` makes working calls or clients fail, `warning` may change results, `compatible` needs no action.
 */
export const CHANGE_SEVERITIES = ["exposing", "breaking", "warning", "compatible"] as const;
export type ChangeSeverity = (typeof CHANGE_SEVERITIES)[number];

const exposing = ruleOf("exposing");
const breaking = ruleOf("breaking");
const compatible = ruleOf("compatible");

/** Every kind of change that `diff` reports (generator/docs/diff.md). A test ties this table to the reference. */
export const KINDS = {
  "private-mark-removed": exposing(
    "Mark of private data removed",
    "Callers can read what was marked private; lists of values and examples show it, too.",
  ),
  "filter-exposed": exposing(
    "Filter added over private data",
    "Callers can test which values that were marked private there are.",
  ),
  "tier-lowered": exposing("Tier lowered", "Callers of a lower tier can read data that they could not read."),
  "column-exposed": exposing(
    "Column added over private data",
    "The model reads data marked private; the new column may carry it.",
  ),
  "columns-undeclared": exposing(
    "Columns no longer declared",
    "All columns of the relation are served, whatever they hold.",
  ),
  "unfiltered-allowed-at-tier0": exposing(
    "Whole table open to everybody",
    "Anyone without a key can read all rows instead of those that they know to filter by.",
  ),
  "private-endpoint-added": exposing(
    "Endpoint added over private data",
    "Anyone without a key can read data marked private.",
  ),
  "own-rows-removed": exposing(
    "Rows no longer kept apart by organization",
    "Callers can read the rows of other organizations.",
  ),
  "own-rows-changed": exposing(
    "Rows kept apart by another column",
    "Callers can read rows that belonged to other organizations.",
  ),
  "own-rows-added": breaking(
    "Rows kept apart by organization",
    "Callers get the rows of their organization only, and 403 without one.",
  ),
  "cursor-added": compatible("Pages by cursor", "No call depends on it."),
  "cursor-changed": breaking(
    "Other columns end the sort of pages",
    "Cursors made before get 400: a walk starts again.",
  ),
  "cursor-removed": breaking("Pages by cursor removed", "Calls with `cursor` get 400."),
  "fields-added": compatible("Columns can be chosen", "No call depends on it."),
  "fields-removed": breaking("Columns can no longer be chosen", "Calls with `fields` get 400."),
  "expression-added": compatible("Conditions can be combined", "No call depends on it."),
  "expression-removed": breaking("Conditions can no longer be combined", "Calls with `filter` get 400."),
  "rows-exposed": exposing(
    "Rows of a higher tier or private rows under another path",
    "The path serves rows that its callers could not read.",
  ),
  "group-exposed": exposing(
    "Group added over private data",
    "Callers can read values that are marked private.",
  ),
  "measure-exposed": exposing("Private metric added", "Callers can read a metric that is marked private."),
  "row-access-added": exposing(
    "Rows themselves served",
    "Callers who got sums and counts can read the rows behind them.",
  ),
  "row-access-removed": breaking(
    "Rows themselves no longer served",
    "Calls without `group_by` and measures get totals in place of rows.",
  ),
  "meaning-changed": breaking(
    "Formula, filter or join changed",
    "The same call returns numbers or groups that mean something else.",
  ),
  "measure-removed": breaking(
    "Measure removed",
    "Calls that ask for it get 400, and rows no longer have it.",
  ),
  "measure-added": compatible("Measure added", "JSON and CSV clients read fields by name."),
  "default-measures-narrowed": breaking(
    "Calls that name no measures can ask less",
    "They ask for all measures, of which a new one lacks these groups: they get 400.",
  ),
  "group-removed": breaking("Group removed", "Calls that group or filter by it get 400."),
  "group-added": compatible("Group added", "No call depends on it."),
  "grain-removed": breaking("Grain of a group removed", "Calls that group by it get 400."),
  "grain-added": compatible("Grain of a group added", "No call depends on it."),
  "default-grain-changed": breaking(
    "Default grain of a group changed",
    "Calls that name the group without a grain get other periods.",
  ),
  "endpoint-removed": breaking("Endpoint removed", "Calls get 404."),
  "endpoint-retired": compatible("Endpoint removed after its sunset", "The announced date has passed."),
  "endpoint-added": compatible("Endpoint added", "No call depends on it."),
  "path-moved": breaking("Path moved", "Calls to the old path get 404."),
  "path-moved-with-notice": compatible("Path moved with notice", "The old path answers until its sunset."),
  "rows-exchanged": breaking(
    "Serves the rows of another endpoint",
    "The same call returns rows that another path returned.",
  ),
  "model-changed": warning("Served from another model", "The rows may mean something else."),
  "relation-changed": warning("Served from another relation", "The rows may differ."),
  "tier-raised": breaking("Tier raised", "Callers of a lower tier get 403."),
  "method-removed": breaking("Method removed", "Calls get 405."),
  "method-added": compatible("Method added", "No call depends on it."),
  "parameter-removed": breaking("Parameter removed", "Calls with it get 400."),
  "parameter-added": compatible("Parameter added", "Parameters are optional."),
  "parameter-column-changed": breaking(
    "Parameter filters another column",
    "The same call selects other rows.",
  ),
  "parameter-operator-changed": breaking(
    "Operator or type of a parameter changed",
    "The same call selects other rows or gets 400.",
  ),
  "parameter-takes-list": warning(
    "Parameter takes a list",
    "A single value selects the same rows; only a value that holds a comma is now read as several.",
  ),
  "filter-added": compatible("Column can be filtered", "No call depends on it."),
  "filter-removed": breaking("Column can no longer be filtered", "Calls that filter by it get 400."),
  "filter-type-changed": breaking(
    "Type of a filtered column changed",
    "Values or operators that fitted the earlier type get 400.",
  ),
  "parameter-values-narrowed": breaking(
    "Parameter accepts fewer values",
    "Values that do not fit the column's new type or its accepted values get 400.",
  ),
  "parameter-case-added": warning("Parameter ignores letter case", "The same call can select more rows."),
  "parameter-case-removed": breaking(
    "Parameter respects letter case",
    "A value in another letter case no longer matches.",
  ),
  "max-items-lowered": breaking("max_items lowered", "Longer lists get 400."),
  "max-items-raised": compatible("max_items raised", "Accepted lists stay accepted."),
  "max-length-lowered": breaking("max_length lowered", "Longer values get 400."),
  "max-length-raised": compatible("max_length raised", "Accepted values stay accepted."),
  "unfiltered-refused": breaking("A filter is now required", "Calls without a filter get 400."),
  "unfiltered-allowed": exposing(
    "Whole table open to callers with a key",
    "Callers with a key can read all rows instead of those that they know to filter by.",
  ),
  "require-any-of-added": breaking("require_any_of added", "Calls without one of these filters get 400."),
  "require-any-of-narrowed": breaking("require_any_of narrowed", "Calls with only a dropped filter get 400."),
  "require-any-of-loosened": compatible("require_any_of loosened", "Valid calls stay valid."),
  "pagination-enabled": breaking("Pagination turned on", "A call without `limit` no longer gets all rows."),
  "pagination-disabled": breaking("Pagination turned off", "Calls with `limit` or `offset` get 400."),
  "default-limit-lowered": breaking("default_limit lowered", "A call without `limit` gets fewer rows."),
  "default-limit-raised": warning("default_limit raised", "A call without `limit` gets more rows."),
  "max-limit-lowered": breaking("max_limit lowered", "Calls with a larger `limit` get 400."),
  "max-limit-raised": compatible("max_limit raised", "Valid calls stay valid."),
  "response-mode-changed": breaking("Response mode changed", "The JSON document has another shape."),
  "columns-declared": warning(
    "Columns declared",
    "Columns of the relation that are not declared are no longer served.",
  ),
  "column-removed": breaking("Column removed", "Clients that read the field fail."),
  "column-added": compatible("Column added", "JSON and CSV clients read fields by name."),
  "column-retyped": breaking("Column retyped", "The new values do not fit the documented JSON type."),
  "column-narrowed": compatible("Column type narrowed", "Every new value fits the documented JSON type."),
  "column-label-added": breaking(
    "Label of an enumeration added",
    "Clients of the documented labels meet one that they do not know.",
  ),
  "column-label-renamed": breaking(
    "Label of an enumeration renamed",
    "Rows have a label that clients do not know, and filters by the former one match nothing or get 400.",
  ),
  "column-label-removed": warning(
    "Label of an enumeration removed",
    "Rows have known labels only; filters by the label get 400.",
  ),
  "column-labels-moved": warning(
    "Labels of an enumeration moved",
    "Rows that are sorted by it come in another order.",
  ),
  "column-type-renamed": warning(
    "Type renamed",
    "It has the same base type or labels; only its name and its constraints may differ.",
  ),
  "column-lengthened": warning(
    "Text column may be longer",
    "It stays a JSON string; a client that stores fewer characters can cut it.",
  ),
  "column-shortened": warning("Text column may be shorter", "A cast to the new type cuts longer values."),
  "column-text-changed": warning(
    "Text of a column changed",
    "It stays a JSON string, which the new type writes in its own way.",
  ),
  "column-widened": warning(
    "Column holds more digits",
    "It keeps its JSON type; a client that stores fewer bits or digits can overflow.",
  ),
  "column-digits-changed": breaking(
    "Number needs more digits than a double, or no longer",
    "Generated clients have a string where they had a number, or the reverse.",
  ),
  "column-scale-lowered": breaking("Decimal places cut", "Values lose digits behind the point."),
  "column-number-changed": warning(
    "Floating point changed its precision or became exact",
    "The new values fit, but they may be rounded differently.",
  ),
  "column-zone-changed": breaking(
    "Time zone of a timestamp column changed",
    "The same stored time is served as another instant.",
  ),
  "column-zone-converted": warning(
    "Timestamp column got or lost its time zone",
    "The same instant is served only if the conversion uses the zone in which the time was meant.",
  ),
  "column-made-nullable": breaking("Column may now be null", "Clients that rely on a value fail."),
  "column-null-test-removed": warning(
    "Test for null removed",
    "Only a dbt test showed that there is always a value, and it is gone.",
  ),
  "column-made-non-null": compatible(
    "Column is never null any more",
    "Clients that expect null keep working.",
  ),
  "column-order-changed": warning(
    "Column order changed",
    "CSV readers that go by position read other fields.",
  ),
  "accepted-values-widened": warning(
    "accepted_values widened",
    "Clients can meet a value that they do not know.",
  ),
  "accepted-values-narrowed": compatible("accepted_values narrowed", "Known values only."),
  "range-widened": warning(
    "Range of values widened",
    "Clients can meet a number outside of the documented bounds.",
  ),
  "range-narrowed": compatible("Range of values narrowed", "Every value lies within the documented bounds."),
  "unique-test-removed": warning(
    "Uniqueness no longer tested",
    "Clients that use the column as a key can meet a value twice.",
  ),
  "unique-test-added": compatible("Uniqueness tested", "No client relies on values that occur twice."),
  "reference-changed": warning(
    "Reference no longer tested",
    "Clients that look values up elsewhere may not find them.",
  ),
  "reference-added": compatible("Reference tested", "Each value can now be looked up elsewhere, too."),
  "constraint-removed": warning(
    "Constraint no longer enforced",
    "Clients can meet rows that dbt or the database refused before.",
  ),
  "constraint-added": compatible("Constraint enforced", "Every row that clients meet keeps to it."),
  "roll-up-added": compatible(
    "Roll-up added",
    "Answers are the same: it is read where it has all that is asked.",
  ),
  "roll-up-removed": compatible("Roll-up removed", "Answers are the same, from the rows themselves."),
  ...PROMISE_KINDS,
  "owner-changed": compatible("Owner changed", "Only who answers for it differs."),
  "sort-changed": breaking("Fixed sort changed", "Rows come in another order, and pages hold other rows."),
  "sort-extended": compatible("Fixed sort extended", "Only the order of ties is decided."),
  "sortable-field-removed": breaking("Sortable field removed", "Calls that sort by it get 400."),
  "sortable-field-added": compatible("Sortable field added", "Valid calls stay valid."),
  ...DEPRECATION_KINDS,
  "description-changed": compatible("Description changed", "Only the documentation differs."),
  ...PLAN_KINDS,
} as const;

export type ChangeKind = keyof typeof KINDS;

export type ChangeSeverities = Severities<ChangeKind, ChangeSeverity>;

/** All kinds, in the order of the table. */
export const CHANGE_KINDS = Object.keys(KINDS) as readonly ChangeKind[];
