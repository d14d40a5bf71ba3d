/** Kinds of change in the columns and their values; `KINDS` has them all. */
export const COLUMN_KINDS = {
  "columns-declared": {
    severity: "warning",
    title: "Columns declared",
    reason: "Columns of the relation that are not declared are no longer served.",
  },
  "column-removed": {
    severity: "breaking",
    title: "Column removed",
    reason: "Clients that read the field fail.",
  },
  "column-added": {
    severity: "compatible",
    title: "Column added",
    reason: "JSON and CSV clients read fields by name.",
  },
  "column-retyped": {
    severity: "breaking",
    title: "Column retyped",
    reason: "The new values do not fit the documented JSON type.",
  },
  "column-narrowed": {
    severity: "compatible",
    title: "Column type narrowed",
    reason: "Every new value fits the documented JSON type.",
  },
  "column-lengthened": {
    severity: "compatible",
    title: "Text column may be longer",
    reason: "It stays a JSON string.",
  },
  "column-widened": {
    severity: "warning",
    title: "Numeric column widened",
    reason: "It stays a JSON number; a client that stores fewer bits or digits can overflow.",
  },
  "column-scale-lowered": {
    severity: "breaking",
    title: "Decimal places cut",
    reason: "Values lose digits behind the point.",
  },
  "column-number-changed": {
    severity: "warning",
    title: "Floating point became exact, or decimal became integer",
    reason: "The new values fit, but they may be rounded otherwise.",
  },
  "column-zone-changed": {
    severity: "breaking",
    title: "Time zone of a timestamp column changed",
    reason: "The same stored time is served as another instant.",
  },
  "column-made-nullable": {
    severity: "breaking",
    title: "Column may now be null",
    reason: "Clients that rely on a value fail.",
  },
  "column-null-test-removed": {
    severity: "warning",
    title: "Test for null removed",
    reason: "Only a dbt test showed that there is always a value, and it is gone.",
  },
  "column-made-non-null": {
    severity: "compatible",
    title: "Column is never null any more",
    reason: "Clients that expect null keep working.",
  },
  "column-order-changed": {
    severity: "warning",
    title: "Column order changed",
    reason: "CSV readers that go by position read other fields.",
  },
  "accepted-values-widened": {
    severity: "warning",
    title: "accepted_values widened",
    reason: "Clients can meet a value that they do not know.",
  },
  "accepted-values-narrowed": {
    severity: "compatible",
    title: "accepted_values narrowed",
    reason: "Known values only.",
  },
  "range-widened": {
    severity: "warning",
    title: "Range of values widened",
    reason: "Clients can meet a number outside of the documented bounds.",
  },
  "range-narrowed": {
    severity: "compatible",
    title: "Range of values narrowed",
    reason: "Every value lies within the documented bounds.",
  },
  "unique-test-removed": {
    severity: "warning",
    title: "Uniqueness no longer tested",
    reason: "Clients that use the column as a key can meet a value twice.",
  },
  "unique-test-added": {
    severity: "compatible",
    title: "Uniqueness tested",
    reason: "No client relies on values that occur twice.",
  },
  "reference-changed": {
    severity: "warning",
    title: "Reference no longer tested",
    reason: "Clients that look values up elsewhere may not find them.",
  },
  "reference-added": {
    severity: "compatible",
    title: "Reference tested",
    reason: "Each value can now be looked up elsewhere, too.",
  },
} as const;
