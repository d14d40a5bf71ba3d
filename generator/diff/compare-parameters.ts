import type { Endpoint, Parameter } from "@routewright/runtime/model";
import { parseColumnType } from "../catalogue/column-types/column-type.js";
import type { Difference } from "./change.js";
import { acceptsFilterValues } from "./column-compatibility.js";

/** What differs in the parameters and in the filters that a request must carry. */
export function compareParameters(base: Endpoint, head: Endpoint): readonly Difference[] {
  const renamed = renamedParameters(base, head);
  const byName = new Map(head.parameters.map((parameter) => [parameter.name, parameter]));
  const known = new Set(base.parameters.map(({ name }) => renamed.get(name) ?? name));
  return [
    ...base.parameters.flatMap((was) => {
      const is = byName.get(renamed.get(was.name) ?? was.name);
      return is === undefined
        ? [{ kind: "parameter-removed", subject: was.name, before: filterText(was) } as const]
        : [...compareParameter(was, is), ...compareValues(was, is, base, head)];
    }),
    ...head.parameters.filter(({ name }) => !known.has(name)).map(addition),
    ...compareUnfiltered(base, head),
    ...compareRequired(base, head, renamed),
  ];
}

/** Old names with their new ones: a parameter that is gone and a new one with its column and its operator. */
export function renamedParameters(base: Endpoint, head: Endpoint): ReadonlyMap<string, string> {
  const was = new Set(base.parameters.map(({ name }) => name));
  const is = new Set(head.parameters.map(({ name }) => name));
  const added = head.parameters.filter(({ name }) => !was.has(name));
  const renamed = new Map<string, string>();
  for (const { name, column, operator } of base.parameters.filter((parameter) => !is.has(parameter.name))) {
    const index = added.findIndex((other) => other.column === column && other.operator === operator);
    const [other] = index === -1 ? [] : added.splice(index, 1);
    if (other !== undefined) renamed.set(name, other.name);
  }
  return renamed;
}

function compareParameter(was: Parameter, is: Parameter): readonly Difference[] {
  const subject = was.name;
  const differences: Difference[] = [];
  if (is.name !== subject)
    differences.push({ kind: "parameter-renamed", subject, before: subject, after: is.name });
  if (is.column !== was.column)
    differences.push({ kind: "parameter-column-changed", subject, before: was.column, after: is.column });
  if (is.operator !== was.operator || is.type !== was.type) {
    const [before, after] = [was, is].map(({ operator, type }) => `${operator} ${type}`) as [string, string];
    const takesList = was.operator === "=" && is.operator === "IN";
    if (!takesList) return [...differences, { kind: "parameter-operator-changed", subject, before, after }];
    differences.push({ kind: "parameter-takes-list", subject, before, after });
  }
  return [...differences, ...compareCase(was, is), ...compareMaxItems(was, is), ...compareMaxLength(was, is)];
}

function compareCase(was: Parameter, is: Parameter): readonly Difference[] {
  const [before, after] = [was, is].map((parameter) =>
    "case" in parameter ? (parameter.case ?? AS_GIVEN) : AS_GIVEN,
  ) as [string, string];
  // ILIKE ignores letter case itself.
  if (before === after || was.operator === "ILIKE") return [];
  const kind = after === AS_GIVEN ? "parameter-case-removed" : "parameter-case-added";
  return [{ kind, subject: was.name, before, after }];
}

const AS_GIVEN = "as given";

/** What `max_items` and `max_length` are where a model leaves them out. */
const DEFAULT_MAXIMUM = 1_000;

function compareMaxItems(was: Parameter, is: Parameter): readonly Difference[] {
  if (was.type !== "string_list" || is.type !== "string_list") return [];
  const [before, after] = [was.maxItems ?? DEFAULT_MAXIMUM, is.maxItems ?? DEFAULT_MAXIMUM];
  if (before === after) return [];
  const kind = after < before ? "max-items-lowered" : "max-items-raised";
  return [{ kind, subject: was.name, before: String(before), after: String(after) }];
}

function compareMaxLength(was: Parameter, is: Parameter): readonly Difference[] {
  const [before, after] = [was, is].map(
    (one) => ("maxLength" in one && one.maxLength) || DEFAULT_MAXIMUM,
  ) as [number, number];
  if (before === after) return [];
  const kind = after < before ? "max-length-lowered" : "max-length-raised";
  return [{ kind, subject: was.name, before: String(before), after: String(after) }];
}

/** The column's type decides which values a filter takes. */
function compareValues(was: Parameter, is: Parameter, base: Endpoint, head: Endpoint): readonly Difference[] {
  if (was.column !== is.column || is.operator === "ILIKE" || is.type === "date") return [];
  const accepted = compareAccepted(was, is);
  if (accepted !== null) return [accepted];
  const [before, after] = [base, head].map(
    ({ columns }) => columns.find(({ name }) => name === was.column)?.type ?? null,
  );
  if (!before || !after || before === after) return [];
  if (acceptsFilterValues(parseColumnType(before), parseColumnType(after))) return [];
  return [{ kind: "parameter-values-narrowed", subject: was.name, before, after }];
}

/** A value that the column may no longer hold is refused. */
function compareAccepted(was: Parameter, is: Parameter): Difference | null {
  const [before, after] = [was, is].map((one) => ("values" in one ? one.values : undefined));
  if (after === undefined || before?.every((value) => after.includes(value))) return null;
  const text = before?.join(", ") ?? "any value";
  return { kind: "parameter-values-narrowed", subject: was.name, before: text, after: after.join(", ") };
}

function addition(parameter: Parameter): Difference {
  return { kind: "parameter-added", subject: parameter.name, after: filterText(parameter) };
}

/** `string: action = value`. */
function filterText({ type, column, operator }: Parameter): string {
  return `${type}: ${column} ${operator} ${type === "string_list" ? "values" : "value"}`;
}

/** Beside a `require_any_of`, which asks for more, `allow_unfiltered` decides nothing that a consumer can notice. */
function compareUnfiltered(base: Endpoint, head: Endpoint): readonly Difference[] {
  const isDecisive = (base.allowUnfiltered ? base : head).requireAnyOf.length === 0;
  if (base.allowUnfiltered === head.allowUnfiltered || !isDecisive) return [];
  const allowed = head.tier === "tier0" ? "unfiltered-allowed-at-tier0" : "unfiltered-allowed";
  const [before, after] = [String(base.allowUnfiltered), String(head.allowUnfiltered)];
  return [
    {
      kind: base.allowUnfiltered ? "unfiltered-refused" : allowed,
      subject: "allow_unfiltered",
      before,
      after,
    },
  ];
}

function compareRequired(
  base: Endpoint,
  head: Endpoint,
  renamed: ReadonlyMap<string, string>,
): readonly Difference[] {
  // A renamed parameter is reported as such, and not again for its place in the list.
  const was = base.requireAnyOf.map((name) => renamed.get(name) ?? name);
  const is = head.requireAnyOf;
  const text = { subject: "require_any_of", ...listed("before", was), ...listed("after", is) };
  if (is.length === 0) return was.length === 0 ? [] : [{ kind: "require-any-of-loosened", ...text }];
  if (was.length === 0) {
    const wasRequired = base.parameters.every(({ name }) => is.includes(renamed.get(name) ?? name));
    return !base.allowUnfiltered && wasRequired ? [] : [{ kind: "require-any-of-added", ...text }];
  }
  if (was.some((name) => !is.includes(name))) return [{ kind: "require-any-of-narrowed", ...text }];
  return is.length > was.length ? [{ kind: "require-any-of-loosened", ...text }] : [];
}

function listed(key: "before" | "after", names: readonly string[]): Partial<Difference> {
  return names.length === 0 ? {} : { [key]: names.join(", ") };
}
