import { changeName, OPTION_COLUMNS, OPTION_FIELDS, previousName } from "@routewright/runtime/model";
import { textsOf } from "../../manifest/json.js";
import { formatValue } from "../../manifest/strings.js";
import type { RoutewrightContext } from "./context.js";
import { invalid, type SettingProblem } from "./setting.js";

/** Names that requests for groups and their answers have, taken by a parameter, a group or a measure of the model. */
export function optionNameProblems(
  groups: readonly string[],
  measures: readonly string[],
  { api, routewright }: RoutewrightContext,
): readonly SettingProblem[] {
  const filters = textsOf(routewright["filters"]);
  const parameters = (api?.parameters ?? []).map(({ name }) => name);
  const answered = new Set<string>([
    ...OPTION_COLUMNS,
    ...measures.flatMap((name) => [previousName(name), changeName(name)]),
  ]);
  return [
    ...OPTION_FIELDS.filter((name) => parameters.includes(name)).flatMap((name) =>
      invalid(
        "aggregate",
        `A parameter has the name ${formatValue(name)}, which changes the rows of groups.`,
        RENAME,
      ),
    ),
    ...[...groups, ...measures]
      .filter((name) => answered.has(name))
      .flatMap((name) =>
        invalid("aggregate", `${formatValue(name)} is a column that requests for groups add.`, RENAME),
      ),
    ...measures
      .filter((name) => filters.includes(name))
      .flatMap((name) =>
        invalid(
          `aggregate.measures.${name}`,
          `${formatValue(name)} is a column of \`filters\`, so \`${name}[gt]\` would compare both.`,
          RENAME,
        ),
      ),
  ];
}

const RENAME = "Rename it.";
