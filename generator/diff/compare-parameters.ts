import type { Endpoint, Parameter } from "@routewright/runtime/model";
import type { Difference } from "./change.js";

/** What differs in the parameters. A renamed one is compared with itself under its new name. */
export function compareParameters(base: Endpoint, head: Endpoint): readonly Difference[] {
  const renamed = renamedParameters(base, head);
  const byName = new Map(head.parameters.map((parameter) => [parameter.name, parameter]));
  const known = new Set(base.parameters.map(({ name }) => renamed.get(name) ?? name));
  return [
    ...base.parameters.flatMap((was) => compareParameter(was, byName.get(renamed.get(was.name) ?? was.name))),
    ...head.parameters.filter(({ name }) => !known.has(name)).map(addition),
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

function compareParameter(was: Parameter, is: Parameter | undefined): readonly Difference[] {
  const subject = was.name;
  if (is === undefined) return [{ kind: "parameter-removed", subject, before: filterText(was) }];
  const differences: Difference[] = [];
  if (is.name !== subject)
    differences.push({ kind: "parameter-renamed", subject, before: subject, after: is.name });
  if (is.column !== was.column)
    differences.push({ kind: "parameter-column-changed", subject, before: was.column, after: is.column });
  // The operator decides the type (data-api.md §2.3): they change as one.
  if (is.operator !== was.operator || is.type !== was.type) {
    const [before, after] = [was, is].map(({ operator, type }) => `${operator} ${type}`) as [string, string];
    return [...differences, { kind: "parameter-operator-changed", subject, before, after }];
  }
  return [...differences, ...compareCase(was, is), ...compareMaxItems(was, is)];
}

function compareCase(was: Parameter, is: Parameter): readonly Difference[] {
  const [before, after] = [was, is].map((parameter) =>
    "case" in parameter ? (parameter.case ?? "as given") : "as given",
  ) as [string, string];
  return before === after ? [] : [{ kind: "parameter-case-changed", subject: was.name, before, after }];
}

function compareMaxItems(was: Parameter, is: Parameter): readonly Difference[] {
  if (was.type !== "string_list" || is.type !== "string_list") return [];
  const [before, after] = [was.maxItems ?? Infinity, is.maxItems ?? Infinity];
  if (before === after) return [];
  const kind = after < before ? "max-items-lowered" : "max-items-raised";
  return [{ kind, subject: was.name, before: countText(before), after: countText(after) }];
}

function countText(count: number): string {
  return count === Infinity ? "any number" : String(count);
}

function addition(parameter: Parameter): Difference {
  return { kind: "parameter-added", subject: parameter.name, after: filterText(parameter) };
}

/** `string: action = value`. */
function filterText({ type, column, operator }: Parameter): string {
  return `${type}: ${column} ${operator} ${type === "string_list" ? "values" : "value"}`;
}
