import { PAGE_FIELDS, SORT_FIELDS } from "@routewright/runtime/model";
import { closest, shown, type Fault } from "./fault.js";
import type { MetaApi, MetaPagination, MetaParameter } from "./schema.js";

/** The rules of data-api.md §2.3 that say what one value must be to another. */
export function checkRules(api: MetaApi, columns: readonly string[]): Fault[] {
  const parameters = api.parameters ?? [];
  return [
    ...parameters.flatMap((parameter, i) => parameterFaults(parameter, `parameters[${i}]`, columns)),
    ...duplicates(parameters),
    ...reservedNames(api),
    ...(api.sort ?? []).flatMap(({ column }, i) => unknownColumn(column, `sort[${i}].column`, columns)),
    ...(api.sortable_fields ?? []).flatMap((column, i) =>
      unknownColumn(column, `sortable_fields[${i}]`, columns),
    ),
    ...undeclared(api),
    ...nothingToFilterBy(api),
    ...(api.pagination ? limitFaults(api.pagination) : []),
  ];
}

const TYPE_OF_OPERATOR = {
  "=": "string",
  ILIKE: "string",
  ">=": "date",
  "<=": "date",
  IN: "string_list",
} as const;

function parameterFaults(parameter: MetaParameter, at: string, columns: readonly string[]): Fault[] {
  const { column, operator, type } = parameter;
  const faults = unknownColumn(column, `${at}.column`, columns);
  const expected = TYPE_OF_OPERATOR[operator];
  if (type !== expected) {
    faults.push({
      at: `${at}.type`,
      message: `The operator ${shown(operator)} does not take ${shown(type)}.`,
      hint: `Write type ${shown(expected)}, or use an operator that takes ${shown(type)}.`,
    });
  }
  if (parameter.case !== undefined && type === "date") {
    faults.push({ at: `${at}.case`, message: "`case` does not apply to a date.", hint: "Leave `case` out." });
  }
  if (parameter.max_items !== undefined && type !== "string_list") {
    faults.push({
      at: `${at}.max_items`,
      message: `\`max_items\` does not apply to ${shown(type)}.`,
      hint: "Leave `max_items` out.",
    });
  }
  return faults;
}

function unknownColumn(column: string, at: string, columns: readonly string[]): Fault[] {
  if (columns.includes(column)) return [];
  const near = closest(column, columns);
  const hint = near
    ? `Did you mean ${shown(near)}? Otherwise list the column in the model's schema.yml, or pass --catalog.`
    : "List the column in the model's schema.yml, or pass --catalog with dbt's catalog.json.";
  return [{ at, message: `The model has no column ${shown(column)}.`, hint }];
}

function duplicates(parameters: readonly MetaParameter[]): Fault[] {
  const names = parameters.map(({ name }) => name);
  return names.flatMap((name, i) => {
    if (names.indexOf(name) === i) return [];
    const hint = "Give each parameter its own name.";
    return [{ at: `parameters[${i}].name`, message: `The name ${shown(name)} is used twice.`, hint }];
  });
}

/** A parameter cannot share its name with a field that the endpoint takes anyway. */
function reservedNames({ parameters = [], pagination, sortable_fields = [] }: MetaApi): Fault[] {
  const reserved: readonly string[] = [
    ...(pagination?.enabled ? PAGE_FIELDS : []),
    ...(sortable_fields.length > 0 ? SORT_FIELDS : []),
  ];
  return parameters.flatMap(({ name }, i) =>
    reserved.includes(name)
      ? [
          {
            at: `parameters[${i}].name`,
            message: `${shown(name)} is a field of every endpoint with this setting.`,
            hint: "Choose another name.",
          },
        ]
      : [],
  );
}

function undeclared({ parameters = [], require_any_of = [] }: MetaApi): Fault[] {
  const names = parameters.map(({ name }) => name);
  return require_any_of.flatMap((name, i) =>
    names.includes(name)
      ? []
      : [
          {
            at: `require_any_of[${i}]`,
            message: `No parameter is named ${shown(name)}.`,
            hint: `Declare it, or use one of: ${names.map(shown).join(", ") || "none are declared"}.`,
          },
        ],
  );
}

function nothingToFilterBy({ allow_unfiltered = false, parameters = [] }: MetaApi): Fault[] {
  if (allow_unfiltered || parameters.length > 0) return [];
  return [
    {
      at: "allow_unfiltered",
      message: "It is false and no parameter is declared, so no request could be answered.",
      hint: "Declare a parameter, or write `allow_unfiltered: true`.",
    },
  ];
}

function limitFaults({ enabled, default_limit = 0, max_limit = 0 }: MetaPagination): Fault[] {
  if (!enabled || default_limit <= max_limit) return [];
  return [
    {
      at: "pagination.max_limit",
      message: `\`max_limit\` (${max_limit}) is below \`default_limit\` (${default_limit}).`,
      hint: "Raise `max_limit` or lower `default_limit`.",
    },
  ];
}
