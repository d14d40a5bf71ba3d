import { TIERS } from "@routewright/runtime/model";
import { isObject, textsOf } from "../manifest/json.js";
import type { Model } from "../manifest/model.js";
import type { ModelColumn } from "../manifest/columns.js";
import { formatValue } from "../manifest/strings.js";
import { type Complaint, complaint, type Problem, type Warning } from "./catalogue.js";
import { validateRules } from "./meta-api/rules.js";
import {
  type ApiSettings,
  LEGACY,
  type MetaApi,
  settingsOf,
  unknownKeys,
  unknownKeysOf,
  validateShape,
  type ValidationError,
} from "./meta-api/schema.js";
import { formerPathsProblems, pathOf, pathProblems } from "./path.js";
import { querySettingsOf, querySettingsProblems } from "./query-settings.js";
import { isMisspelledTier, type ModelTags, tierTags } from "./tags.js";

interface CheckedModel {
  /** Null where the tags give no valid path. */
  readonly path: string | null;
  /** Null where the model has a problem. */
  readonly settings: ApiSettings | null;
  readonly problems: readonly Problem[];
  /** Reported, but no reason to skip the model. */
  readonly warnings: readonly Warning[];
}

/** Whether `meta.api` excludes the model. */
export function isExcluded(model: Model): boolean {
  return isObject(model.api?.value) && model.api.value["exclude_from_api"] === true;
}

/** Finds all problems of a published model: in its tags, its relation and its `meta.api`. */
export function checkModel(model: Model, tags: ModelTags): CheckedModel {
  const { settings, errors } = checkApi(model);
  const pathErrors = pathProblems(tags);
  const of = <Each extends Complaint>(complaint: Each) => ({ model: model.uniqueId, ...complaint });
  const problems: readonly Problem[] = [
    ...pathErrors.map((problem) => ({ path: "$.tags", ...problem })),
    ...malformedTags(model),
    ...nearTiers(model),
    ...differingTiers(model),
    ...ephemeral(model),
    ...timezoneProblems(model),
    ...numbersProblems(model),
    ...relationProblems(model),
    ...querySettingsProblems(model, settings),
    ...formerPathsProblems(model, pathErrors.length > 0 ? null : pathOf(tags)),
    ...errors.map((error) => problemOf(model, error)),
  ].map(of);
  return {
    path: pathErrors.length > 0 ? null : pathOf(tags),
    settings: problems.length > 0 ? null : settings,
    problems,
    warnings: [
      ...unknownKeys(model.api?.value).map((key) => ({
        ...problemOf(model, key),
        isUnknownKey: true as const,
      })),
      ...unknownSettings(model),
      ...synonymProblems(model),
      ...severalTiers(model),
      ...(problems.length === 0 ? withoutColumns(model) : []),
    ].map(of),
  };
}

/** Keys of a model's `meta.routewright` (generator/docs/meta-api.md). */
const SETTINGS = [
  "category",
  "cursor",
  "fields",
  "filters",
  "former_paths",
  "lint",
  "numbers",
  "rows",
  "synonyms",
  "timezone",
] as const;

function unknownSettings({ routewright }: Model): Omit<Warning, "model">[] {
  return unknownKeysOf(routewright, "$.meta.routewright", SETTINGS).map(({ at, ...rest }) => ({
    path: at,
    ...rest,
    isUnknownKey: true,
  }));
}

/** `meta.routewright.synonyms` of the model and its columns (generator/docs/meta-routewright.md, Synonyms). */
function synonymProblems(model: Model): readonly Complaint[] {
  const isList = (value: unknown): boolean => Array.isArray(value) && textsOf(value).length === value.length;
  return settingsNamed("synonyms", model)
    .filter(({ value }) => !isList(value))
    .map(({ path, value }) => ({
      path,
      message: `${formatValue(value)} is not a list of words.`,
      hint: 'Write synonyms as a list: ["revenue", "turnover"].',
    }));
}

/** A key of `meta.routewright` that columns may have too: wherever it is set. */
function settingsNamed(key: "synonyms" | "timezone", { routewright, columns }: Model) {
  return [
    { path: `$.meta.routewright.${key}`, value: routewright[key] },
    ...columns.map((column) => ({
      path: `$.columns.${column.name}.meta.routewright.${key}`,
      value: column[key],
    })),
  ].filter(({ value }) => value !== undefined);
}

/** A tag that is not a text could be a tier: the model is skipped, as it could be served to all callers. */
function malformedTags({ malformedTags: malformed }: Model): readonly Complaint[] {
  return malformed.map(({ path, value }) => ({
    path,
    message: `${formatValue(value)} is not ${path.endsWith("]") ? "a tag" : "a list of tags"}.`,
    hint: "Write each tag as a text, and build the manifest again.",
  }));
}

/** dbt writes the tags of a model twice: if only one of them is right, the tier is unknown. */
function differingTiers({ tags, configTags }: Model): readonly Complaint[] {
  const [named, configured] = [tags, configTags].map((list) => tierTags(list).join(", ") || "no tier");
  if (configTags.length === 0 || named === configured) return [];
  return complaint(
    "$.config.tags",
    `The tags name ${named ?? ""}, config.tags name ${configured ?? ""}.`,
    "Build the manifest again: dbt writes the same tags to both.",
  );
}

/** Tags that are probably misspelled tiers: the model is skipped, as it could be served to all callers. */
function nearTiers({ tags, configTags }: Model): readonly Complaint[] {
  return [...new Set([...tags, ...configTags])].filter(isMisspelledTier).map((tag) => ({
    path: "$.tags",
    message: `The tag ${formatValue(tag)} is not a tier, but looks like one.`,
    hint: `Write one of ${TIERS.join(", ")}, or rename the tag.`,
  }));
}

function severalTiers({ tags }: Model): readonly Complaint[] {
  const tiers = tierTags(tags);
  if (tiers.length < 2) return [];
  const message = `The tags name several tiers (${tiers.join(", ")}). The most restrictive counts: ${tiers.at(-1) ?? ""}.`;
  const hint = "Keep one tier tag. dbt adds the tags of a model's folders to its own.";
  return [{ path: "$.tags", message, hint }];
}

function ephemeral({ materialized }: Model): readonly Complaint[] {
  if (materialized !== "ephemeral") return [];
  return complaint(
    "$.config.materialized",
    "An ephemeral model has no relation to serve.",
    "Materialize it as a view or a table, or remove its api: tag.",
  );
}

function withoutColumns({ columns }: Model): readonly Complaint[] {
  if (columns.length > 0) return [];
  const message = "The model declares no columns: every column of its relation is served.";
  return [{ path: "$.columns", message, hint: "List the columns in the model's schema.yml." }];
}

/** A column's time zone: its own, else the model's, else UTC. */
export function timezoneOf(model: Model, column: ModelColumn): unknown {
  return column.timezone ?? model.routewright["timezone"] ?? "UTC";
}

function timezoneProblems(model: Model): readonly Complaint[] {
  return settingsNamed("timezone", model)
    .filter(({ value }) => !isTimezone(value ?? "UTC"))
    .map(({ path, value }) => ({
      path,
      message: `${formatValue(value)} is not a time zone.`,
      hint: "Use a name of the IANA database, such as `Europe/Berlin` or `UTC`.",
    }));
}

function numbersProblems(model: Model): readonly Complaint[] {
  const { numbers = "number" } = model.routewright;
  if (numbers === "number" || numbers === "string") return [];
  return complaint(
    "$.meta.routewright.numbers",
    `${formatValue(numbers)} is not a form of numbers.`,
    "Write `string` for wide integers and decimals as JSON strings, or `number`, the default.",
  );
}

/** Names known to be time zones: a lookup takes longer than the rest of a model. */
const timezones = new Set<string>(["UTC"]);

/** Whether PostgreSQL and JavaScript both know the name: an offset such as `+02:00` has opposite signs in the two. */
function isTimezone(name: unknown): name is string {
  if (typeof name !== "string" || !/^[A-Za-z]/.test(name)) return false;
  if (timezones.has(name)) return true;
  try {
    new Intl.DateTimeFormat("en", { timeZone: name });
    timezones.add(name);
    return true;
  } catch {
    return false;
  }
}

function checkApi(model: Model): { settings: ApiSettings | null; errors: readonly ValidationError[] } {
  if (model.api === null) return { settings: LEGACY, errors: [] };
  // An empty `meta.api:` is an empty record, not a legacy model (generator/docs/meta-api.md).
  const shape = validateShape(model.api.value ?? {});
  const hasFilters = querySettingsOf(model, null).filters !== undefined;
  const errors = [
    ...shape.errors,
    ...(shape.valid ? validateRules(shape.valid, model.columns, hasFilters) : []),
  ];
  return { settings: errors.length === 0 ? settingsOf(shape.valid as MetaApi) : null, errors };
}

function problemOf(model: Model, { at, message, hint }: ValidationError): Complaint {
  const base = model.api?.path ?? "$";
  const path = at === "" ? base : at.startsWith("[") ? base + at : `${base}.${at}`;
  return { path, message, hint };
}

function relationProblems(model: Model): readonly Complaint[] {
  const names = [
    { path: "$.schema", name: model.schema },
    { path: "$.alias", name: model.alias },
  ];
  return names.flatMap(({ path, name }) => {
    const message = identifierError(name);
    return message ? [{ path, message, hint: "Give the name that the relation has in the warehouse." }] : [];
  });
}

function identifierError(name: string): string | null {
  if (name === "") return "The name is missing or empty.";
  return name.includes("\0") ? "The name contains the character U+0000, which no identifier can." : null;
}
