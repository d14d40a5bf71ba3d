import { isObject, member, objectOr, textOr } from "../../manifest/json.js";
import { knownColumns, type Model, servedColumns } from "../../manifest/model.js";
import type { Complaint, Warning } from "../catalogue.js";
import type { ApiSettings } from "./context.js";
import { readMetaApi } from "./meta-api.js";
import {
  type ColumnSettings,
  type ModelSettings,
  readColumnSettings,
  readModelSettings,
} from "./meta-routewright.js";
import { ignoredKeys, pathBelow, type SettingProblem, type TableReading } from "./setting.js";

/** All settings of a model without problems. */
export interface ReadSettings {
  readonly api: ApiSettings;
  readonly routewright: ModelSettings;
  /** By name; none for a column without settings. */
  readonly columns: ReadonlyMap<string, ColumnSettings>;
}

interface SettingsReading {
  /** Null where there are problems. */
  readonly settings: ReadSettings | null;
  readonly problems: readonly Complaint[];
  readonly warnings: readonly Omit<Warning, "model">[];
}

/** Reads the settings of a published model: those of `meta.api`, then those of `meta.routewright`. `path`: the endpoint's. */
export function readSettingsOf(model: Model, path: string | null, hasOwnTypes: boolean): SettingsReading {
  const { provenKeys, loadBounds, routewright, api: written } = model;
  const [columns, served] = [knownColumns(model), servedColumns(model)];
  const api = readMetaApi(written, { columns, hasFilters: hasFilters(model) });
  const apiSettings = api.problems.length > 0 ? null : api.values();
  const own = readModelSettings({
    columns,
    served,
    hasOwnTypes,
    provenKeys,
    hasLoadBounds: loadBounds !== null,
    routewright,
    api: apiSettings,
    path,
  });
  const groups = groupsOf(routewright);
  const ofColumns = model.columns
    .filter((column) => Object.keys(column.routewright).length > 0)
    .map(
      (column) =>
        [
          column.name,
          readColumnSettings(column.routewright, { type: column.type, isGroup: groups.has(column.name) }),
        ] as const,
    );
  const bases: readonly (readonly [string, TableReading<unknown>])[] = [
    ["$.meta.routewright", own],
    ...ofColumns.map(([name, reading]) => [`$.columns${member(name)}.meta.routewright`, reading] as const),
    [written?.path ?? "$", api],
  ];
  const problems = bases.flatMap(([base, reading]) => complaints(reading.problems, base));
  return {
    settings:
      apiSettings === null || problems.length > 0
        ? null
        : {
            api: apiSettings,
            routewright: own.values(),
            columns: new Map(ofColumns.map(([name, reading]) => [name, reading.values()])),
          },
    problems,
    warnings: bases.flatMap(([base, { unknown, advice }]) => [
      ...ignoredKeys(unknown, base),
      ...complaints(advice, base),
    ]),
  };
}

/** Names of the columns that callers may group by. */
function groupsOf({ aggregate }: Model["routewright"]): ReadonlySet<string> {
  const { group_by: groups } = objectOr(aggregate);
  const all: readonly unknown[] = Array.isArray(groups) ? groups : [];
  return new Set(all.map((group) => textOr(isObject(group) ? group["column"] : group, "")));
}

/** Whether `meta.routewright.filters` names a column. */
function hasFilters({ routewright: { filters } }: Model): boolean {
  return Array.isArray(filters) && filters.some((name) => typeof name === "string");
}

function complaints(problems: readonly SettingProblem[], base: string): readonly Complaint[] {
  return problems.map(({ at, message, hint }) => ({ path: pathBelow(base, at), message, hint }));
}
