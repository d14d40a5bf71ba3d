import { COLUMN_KINDS } from "./column-kinds.js";

/**
 * What a change means to API consumers and to those who own the data: `exposing` opens data to callers who could not
 * read it, `breaking` makes working calls or clients fail, `warning` may change results, `compatible` needs no action.
 */
export const SEVERITIES = ["exposing", "breaking", "warning", "compatible"] as const;
export type Severity = (typeof SEVERITIES)[number];

/** A kind of change: its default severity, its name for people, and why it has that severity. */
export interface KindInfo {
  readonly severity: Severity;
  readonly title: string;
  readonly reason: string;
}

/** Every kind of change that `diff` reports (generator/README.md, Diff). A test ties this table to the reference. */
export const KINDS = {
  "tier-lowered": {
    severity: "exposing",
    title: "Tier lowered",
    reason: "Callers of a lower tier can read data that they could not read.",
  },
  "column-exposed": {
    severity: "exposing",
    title: "Column added over private data",
    reason: "The model reads data marked private; the new column may carry it.",
  },
  "columns-undeclared": {
    severity: "exposing",
    title: "Columns no longer declared",
    reason: "All columns of the relation are served, whatever they hold.",
  },
  "unfiltered-allowed-at-tier0": {
    severity: "exposing",
    title: "Whole table open to everybody",
    reason: "Anyone without a key can read all rows instead of those that they know to filter by.",
  },
  "endpoint-removed": { severity: "breaking", title: "Endpoint removed", reason: "Calls get 404." },
  "endpoint-retired": {
    severity: "compatible",
    title: "Endpoint removed after its sunset",
    reason: "The announced date has passed.",
  },
  "endpoint-added": { severity: "compatible", title: "Endpoint added", reason: "No call depends on it." },
  "path-moved": { severity: "breaking", title: "Path moved", reason: "Calls to the old path get 404." },
  "model-changed": {
    severity: "warning",
    title: "Served from another model",
    reason: "The rows may mean something else.",
  },
  "relation-changed": {
    severity: "warning",
    title: "Served from another relation",
    reason: "The rows may differ.",
  },
  "tier-raised": { severity: "breaking", title: "Tier raised", reason: "Callers of a lower tier get 403." },
  "method-removed": { severity: "breaking", title: "Method removed", reason: "Calls get 405." },
  "method-added": { severity: "compatible", title: "Method added", reason: "No call depends on it." },
  "parameter-removed": { severity: "breaking", title: "Parameter removed", reason: "Calls with it get 400." },
  "parameter-added": { severity: "compatible", title: "Parameter added", reason: "Parameters are optional." },
  "parameter-renamed": {
    severity: "breaking",
    title: "Parameter renamed",
    reason: "Calls with the old name get 400.",
  },
  "parameter-column-changed": {
    severity: "breaking",
    title: "Parameter filters another column",
    reason: "The same call selects other rows.",
  },
  "parameter-operator-changed": {
    severity: "breaking",
    title: "Operator or type of a parameter changed",
    reason: "The same call selects other rows or gets 400.",
  },
  "parameter-takes-list": {
    severity: "warning",
    title: "Parameter takes a list",
    reason: "A single value selects the same rows; only a value that holds a comma is now read as several.",
  },
  "parameter-values-narrowed": {
    severity: "breaking",
    title: "Parameter accepts fewer values",
    reason: "Values that do not fit the column's new type or its accepted values get 400.",
  },
  "parameter-case-added": {
    severity: "warning",
    title: "Parameter ignores letter case",
    reason: "The same call can select more rows.",
  },
  "parameter-case-removed": {
    severity: "breaking",
    title: "Parameter respects letter case",
    reason: "A value in another letter case no longer matches.",
  },
  "max-items-lowered": { severity: "breaking", title: "max_items lowered", reason: "Longer lists get 400." },
  "max-items-raised": {
    severity: "compatible",
    title: "max_items raised",
    reason: "Accepted lists stay accepted.",
  },
  "max-length-lowered": {
    severity: "breaking",
    title: "max_length lowered",
    reason: "Longer values get 400.",
  },
  "max-length-raised": {
    severity: "compatible",
    title: "max_length raised",
    reason: "Accepted values stay accepted.",
  },
  "unfiltered-refused": {
    severity: "breaking",
    title: "A filter is now required",
    reason: "Calls without a filter get 400.",
  },
  "unfiltered-allowed": {
    severity: "compatible",
    title: "No filter is required any more",
    reason: "Calls with a filter stay valid.",
  },
  "require-any-of-added": {
    severity: "breaking",
    title: "require_any_of added",
    reason: "Calls without one of these filters get 400.",
  },
  "require-any-of-narrowed": {
    severity: "breaking",
    title: "require_any_of narrowed",
    reason: "Calls with only a dropped filter get 400.",
  },
  "require-any-of-loosened": {
    severity: "compatible",
    title: "require_any_of loosened",
    reason: "Valid calls stay valid.",
  },
  "pagination-enabled": {
    severity: "breaking",
    title: "Pagination turned on",
    reason: "A call without `limit` no longer gets all rows.",
  },
  "pagination-disabled": {
    severity: "breaking",
    title: "Pagination turned off",
    reason: "Calls with `limit` or `offset` get 400.",
  },
  "default-limit-lowered": {
    severity: "breaking",
    title: "default_limit lowered",
    reason: "A call without `limit` gets fewer rows.",
  },
  "default-limit-raised": {
    severity: "warning",
    title: "default_limit raised",
    reason: "A call without `limit` gets more rows.",
  },
  "max-limit-lowered": {
    severity: "breaking",
    title: "max_limit lowered",
    reason: "Calls with a larger `limit` get 400.",
  },
  "max-limit-raised": {
    severity: "compatible",
    title: "max_limit raised",
    reason: "Valid calls stay valid.",
  },
  "response-mode-changed": {
    severity: "breaking",
    title: "Response mode changed",
    reason: "The JSON document has another shape.",
  },
  ...COLUMN_KINDS,
  "sort-changed": {
    severity: "breaking",
    title: "Fixed sort changed",
    reason: "Rows come in another order, and pages hold other rows.",
  },
  "sort-extended": {
    severity: "compatible",
    title: "Fixed sort extended",
    reason: "Only the order of ties is decided.",
  },
  "sortable-field-removed": {
    severity: "breaking",
    title: "Sortable field removed",
    reason: "Calls that sort by it get 400.",
  },
  "sortable-field-added": {
    severity: "compatible",
    title: "Sortable field added",
    reason: "Valid calls stay valid.",
  },
  "endpoint-deprecated": {
    severity: "warning",
    title: "Endpoint deprecated",
    reason: "Consumers have to move before the sunset.",
  },
  "sunset-too-soon": {
    severity: "breaking",
    title: "Sunset without enough notice",
    reason: "Consumers get fewer days than `minimumNoticeDays`.",
  },
  "sunset-brought-forward": {
    severity: "warning",
    title: "Sunset brought forward",
    reason: "Consumers have less time, though enough.",
  },
  "sunset-put-off": { severity: "compatible", title: "Sunset put off", reason: "Consumers have more time." },
  "deprecation-lifted": {
    severity: "warning",
    title: "No longer deprecated",
    reason: "Consumers may be moving away for nothing.",
  },
  "successor-changed": {
    severity: "compatible",
    title: "Successor changed",
    reason: "Only the `Link` header differs.",
  },
  "description-changed": {
    severity: "compatible",
    title: "Description changed",
    reason: "Only the documentation differs.",
  },
} as const satisfies Readonly<Record<string, KindInfo>>;

export type ChangeKind = keyof typeof KINDS;

/** All kinds, in the order of the table. */
export const CHANGE_KINDS = Object.keys(KINDS) as readonly ChangeKind[];

export function isChangeKind(text: unknown): text is ChangeKind {
  return typeof text === "string" && Object.hasOwn(KINDS, text);
}
