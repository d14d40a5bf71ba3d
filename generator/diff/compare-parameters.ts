import {
  type Column,
  DEFAULT_MAX_ITEMS,
  DEFAULT_MAX_LENGTH,
  type Endpoint,
  operatorOf,
  type Parameter,
} from "@routewright/runtime/model";
import { dataTypeOf } from "../catalogue/types/read-type.js";
import type { Difference } from "./change.js";
import { acceptsFilterValues } from "./column-compatibility.js";

/** The differences of the parameters, and of the filters that a request must have. */
export function compareParameters(
  base: Endpoint,
  head: Endpoint & { readonly lostColumns?: ReadonlySet<string> },
): readonly Difference[] {
  const byName = new Map(head.parameters.map((parameter) => [parameter.name, parameter]));
  const known = new Set(base.parameters.map(({ name }) => name));
  return [
    ...base.parameters.flatMap((parameter) => {
      const { name } = parameter;
      const other = byName.get(name);
      return other === undefined
        ? [{ kind: "parameter-removed", subject: name, before: filterText(parameter) } as const]
        : [
            ...compareParameter(parameter, other),
            ...compareValues(parameter, other, base.columns, head.columns),
          ];
    }),
    ...head.parameters
      .filter(({ name }) => !known.has(name))
      .map(
        (parameter) =>
          ({
            kind: head.lostColumns?.has(parameter.column) ? "filter-exposed" : "parameter-added",
            subject: parameter.name,
            after: filterText(parameter),
          }) as const,
      ),
    ...compareFilters(base, head),
    ...compareUnfiltered(base, head),
    ...compareRequired(base, head),
  ];
}

/** The columns that callers filter by. */
export function compareFilters(
  { filters: base = [] }: Pick<Endpoint, "filters">,
  {
    filters: head = [],
    lostColumns,
  }: Pick<Endpoint, "filters"> & { readonly lostColumns?: ReadonlySet<string> },
): readonly Difference[] {
  const [before, after] = [base, head].map((list) => new Map(list.map(({ column, type }) => [column, type])));
  const removed = base.filter(({ column }) => !after?.has(column));
  return [
    ...removed.map(
      ({ column, type }) => ({ kind: "filter-removed", subject: column, before: type }) as const,
    ),
    ...head.flatMap(({ column, type }): Difference[] => {
      const known = before?.get(column);
      if (known === undefined) {
        const kind = lostColumns?.has(column) ? "filter-exposed" : "filter-added";
        return [{ kind, subject: column, after: type }];
      }
      const isSame = known === type || (known === "integer" && type === "number");
      return isSame ? [] : [{ kind: "filter-type-changed", subject: column, before: known, after: type }];
    }),
  ];
}

function compareParameter(base: Parameter, head: Parameter): readonly Difference[] {
  const subject = base.name;
  const differences: Difference[] = [];
  if (head.column !== base.column)
    differences.push({ kind: "parameter-column-changed", subject, before: base.column, after: head.column });
  if (head.operator !== base.operator || head.type !== base.type) {
    const [before, after] = [`${base.operator} ${base.type}`, `${head.operator} ${head.type}`];
    const [from, to] = [base, head].map(({ operator }) => operatorOf(operator));
    const takesList = base.type === "string" && head.type === "string_list" && from?.value === to?.value;
    if (!takesList) return [...differences, { kind: "parameter-operator-changed", subject, before, after }];
    differences.push({ kind: "parameter-takes-list", subject, before, after });
  }
  return [
    ...differences,
    ...compareCase(base, head),
    ...(base.type === "string_list" && head.type === "string_list"
      ? compareMaximum(
          "max-items",
          base.maxItems ?? DEFAULT_MAX_ITEMS,
          head.maxItems ?? DEFAULT_MAX_ITEMS,
          subject,
        )
      : []),
    ...compareMaximum("max-length", maxLengthOf(base), maxLengthOf(head), subject),
  ];
}

function compareCase(base: Parameter, head: Parameter): readonly Difference[] {
  const [before, after] = [base, head].map((parameter) =>
    "case" in parameter ? (parameter.case ?? AS_GIVEN) : AS_GIVEN,
  ) as [string, string];
  // A pattern matches in any letter case.
  if (before === after || operatorOf(base.operator).value === "pattern") return [];
  const kind = after === AS_GIVEN ? "parameter-case-removed" : "parameter-case-added";
  return [{ kind, subject: base.name, before, after }];
}

const AS_GIVEN = "as given";

function maxLengthOf(parameter: Parameter): number {
  return ("maxLength" in parameter ? parameter.maxLength : undefined) ?? DEFAULT_MAX_LENGTH;
}

type Maximum = "max-items" | "max-length" | "default-limit" | "max-limit";

export function compareMaximum(
  what: Maximum,
  before: number,
  after: number,
  subject?: string,
): readonly Difference[] {
  if (before === after) return [];
  const kind = `${what}-${after < before ? "lowered" : "raised"}` as const;
  return [{ kind, subject, before: String(before), after: String(after) }];
}

/** Values that a filter accepted and now rejects: its column's type decides, and an `accepted_values` test. */
function compareValues(
  base: Parameter,
  head: Parameter,
  baseColumns: readonly Column[],
  headColumns: readonly Column[],
): readonly Difference[] {
  if (base.column !== head.column || operatorOf(head.operator).value !== "typed") return [];
  const accepted = compareAccepted(base, head);
  if (accepted !== null) return [accepted];
  const [before, after] = [baseColumns, headColumns].map(
    (columns) => columns.find(({ name }) => name === base.column)?.type ?? null,
  );
  if (!before || !after || before === after) return [];
  if (acceptsFilterValues(before, after)) return [];
  return [{ kind: "parameter-values-narrowed", subject: base.name, before, after }];
}

/** A request with a value that the column cannot hold gets 400. */
function compareAccepted(base: Parameter, head: Parameter): Difference | null {
  const [before, after] = [base, head].map((one) => ("values" in one ? one.values : undefined));
  if (after === undefined || before?.every((value) => after.includes(value))) return null;
  const text = before?.join(", ") ?? "any value";
  return { kind: "parameter-values-narrowed", subject: base.name, before: text, after: after.join(", ") };
}

/** `string: action = value`. */
function filterText({ type, column, operator }: Parameter): string {
  return `${type}: ${column} ${operator} ${type === "string_list" ? "values" : "value"}`;
}

/** With `require_any_of`, which is stricter, `allow_unfiltered` has no effect. */
function compareUnfiltered(base: Endpoint, head: Endpoint): readonly Difference[] {
  const [before, after] = [accessTo(base), accessTo(head)];
  if (after.level > before.level) {
    const kind = head.tier === "tier0" ? "unfiltered-allowed-at-tier0" : "unfiltered-allowed";
    return [{ kind, subject: after.subject, before: before.text, after: after.text }];
  }
  if (!base.allowUnfiltered || head.allowUnfiltered || base.requireAnyOf.length > 0) return [];
  return [{ kind: "unfiltered-refused", subject: "allow_unfiltered", before: "true", after: "false" }];
}

/** What a caller who knows no value of the data can read: some rows, all by a filter that excludes none, or all. */
interface UnfilteredAccess {
  readonly level: 0 | 1 | 2;
  /** The setting or the parameter that decides. */
  readonly subject: string;
  readonly text: string;
}

function accessTo({
  allowUnfiltered,
  requireAnyOf,
  parameters,
  filters = [],
  columns,
}: Endpoint): UnfilteredAccess {
  const [filter] = requireAnyOf.length === 0 ? filters.filter(({ type }) => type !== "uuid") : [];
  if (allowUnfiltered && requireAnyOf.length === 0)
    return { level: 2, subject: "allow_unfiltered", text: "no filter needed" };
  const sufficient =
    requireAnyOf.length === 0 ? parameters : parameters.filter(({ name }) => requireAnyOf.includes(name));
  const open = sufficient.find((parameter) => canMatchAll(parameter, columns));
  if (open === undefined && filter !== undefined)
    return { level: 1, subject: filter.column, text: `a range of ${filter.column} can match all rows` };
  return open === undefined
    ? { level: 0, subject: "allow_unfiltered", text: "a known value needed" }
    : { level: 1, subject: open.name, text: `${open.name} can match all rows` };
}

/** Whether values that need no knowledge of the data match every row: `0001-01-01`, `%`, `true` and `false`, a published list. */
function canMatchAll(parameter: Parameter, columns: readonly Column[]): boolean {
  if (operatorOf(parameter.operator).value !== "typed") return true;
  const { kind } = dataTypeOf(columns.find(({ name }) => name === parameter.column)?.type);
  return "values" in parameter || kind === "boolean" || kind === "enum";
}

function compareRequired(base: Endpoint, head: Endpoint): readonly Difference[] {
  const [before, after] = [base.requireAnyOf, head.requireAnyOf];
  const [from, to] = [before, after].map((names) => names.join(", ") || null);
  const text = { subject: "require_any_of", before: from, after: to };
  if (after.length === 0) return before.length === 0 ? [] : [{ kind: "require-any-of-loosened", ...text }];
  if (before.length === 0) {
    const wasRequired =
      !base.allowUnfiltered &&
      !filtersColumns(base) &&
      base.parameters.every(({ name }) => after.includes(name));
    return wasRequired ? [] : [{ kind: "require-any-of-added", ...text }];
  }
  if (before.some((name) => !after.includes(name))) return [{ kind: "require-any-of-narrowed", ...text }];
  return after.length > before.length ? [{ kind: "require-any-of-loosened", ...text }] : [];
}

/** Whether filters of columns are enough where a request needs any filter. */
function filtersColumns({ filters = [], aggregate }: Endpoint): boolean {
  return filters.length > 0 || (aggregate?.filters.length ?? 0) > 0;
}
