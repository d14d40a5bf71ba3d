import type { Json, OwnRows } from "@routewright/runtime/model";
import type { JsonObject } from "../../manifest/json.js";
import { described, flag, listOf, oneOf, record, text, textOrNull } from "@routewright/runtime/model";
import { HINT, NOUN, validatorOf } from "../../manifest/schema-errors.js";
import { type NearName, nearName } from "../../manifest/near-name.js";
import { formatValue } from "../../manifest/strings.js";
import { isWideNumber } from "../types/data-type.js";
import { isOfType } from "../types/example.js";
import { dataTypeOf } from "../types/read-type.js";
import type { RoutewrightContext } from "./context.js";
import { aggregate } from "./aggregate.js";
import { cursor } from "./cursor.js";
import { filter, filters } from "./filters.js";
import { formerPaths } from "./former-paths.js";
import { goneAfter } from "./gone-after.js";
import { freshBy, freshWithin, onFailedTest, requireFresh } from "./freshness.js";
import { maxAge } from "./max-age.js";
import { rollUpOf } from "./roll-up-of.js";
import { unknownColumn } from "./setting-columns.js";
import { isTimezone } from "./time-zones.js";
import {
  asWritten,
  invalid,
  reading,
  readSettings,
  schemaOf,
  type Setting,
  type TableReading,
  type Values,
} from "./setting.js";

const category: Setting<string, string | undefined, RoutewrightContext> = {
  schema: {
    ...described("the first segment of the path, in place of a tag", text),
    [NOUN]: "a category",
    [HINT]: "Write a path segment: `category: shop`.",
  },
  read: asWritten,
};

/** When rows change: a promise of the team, or nothing. */
const changes: Setting<"on_build" | "any_time", "on_build" | undefined, unknown> = {
  schema: {
    ...described(
      "`on_build`: rows change only when dbt builds the model or a node above it",
      oneOf(["on_build", "any_time"]),
      "any_time",
    ),
    [NOUN]: "when rows change",
    [HINT]: "Write `on_build` where rows change only when dbt builds, or `any_time`, the default.",
  },
  read: (value) => reading([], () => (value === "on_build" ? value : undefined)),
};

/** Callers choose the columns of a row. */
const fields: Setting<boolean, true | undefined, RoutewrightContext> = {
  schema: {
    ...described("callers choose the columns of a row: `?fields=day,amount_usd`", flag, false),
    [NOUN]: "a boolean",
    [HINT]: "Write `fields: true`.",
  },
  read: (value = false, context) => reading(value ? fieldsProblems(context) : [], () => value || undefined),
};

function fieldsProblems({ served, api }: RoutewrightContext) {
  if (served.length === 0)
    return invalid("fields", "The model declares no columns to choose from.", "List them in its schema.yml.");
  if (api?.parameters.some(({ name }) => name === "fields") !== true) return [];
  const message = "A parameter has the name `fields`, by which callers choose columns.";
  return invalid("fields", message, "Rename the parameter.");
}

const ROWS_HINT = "Write `rows: {column: org_id, equals: org}`.";

/** Callers read the rows of their organization only: a mistake skips the model. */
const rows: Setting<OwnRows, OwnRows | undefined, RoutewrightContext> = {
  schema: {
    ...described(
      "`{column: org_id, equals: org}`: callers read only the rows whose column equals the `org` of their key",
      record(
        { column: { ...text, [HINT]: ROWS_HINT }, equals: { ...oneOf(["org"]), [HINT]: ROWS_HINT } },
        {},
      ),
    ),
    [NOUN]: "a column and what it equals",
    [HINT]: ROWS_HINT,
  },
  read: (value, { columns }) =>
    reading(unknownColumn(value?.column, "rows.column", columns), () => value as OwnRows | undefined),
};

/** Suppressed lint rules: only `lint` reads it, and says what is wrong with it. */
const lint: Setting<unknown, undefined, RoutewrightContext> = {
  schema: described("suppressed lint rules, each with its reason", {}),
  read: () => reading([], () => undefined),
};

const numbers: Setting<"number" | "string", "string" | undefined, unknown> = {
  schema: {
    ...described(
      "`string`: wide integers and decimals are JSON strings",
      oneOf(["number", "string"]),
      "number",
    ),
    [NOUN]: "a form of numbers",
    [HINT]: "Write `string` for wide integers and decimals as JSON strings, or `number`, the default.",
  },
  read: (value) => reading([], () => (value === "string" ? value : undefined)),
};

/** What a column's settings depend on. */
export interface ColumnContext {
  readonly type: string | null;
  /** Whether callers group by it. */
  readonly isGroup: boolean;
}

/** As the model's, for one column. */
const columnNumbers: Setting<"number" | "string", "number" | "string" | undefined, ColumnContext> = {
  schema: {
    ...numbers.schema,
    description: "`string`: its wide integers and decimals are JSON strings; `number`: JSON numbers",
    default: undefined,
  },
  read: (value, context) => reading(value === undefined ? [] : numbersProblems(context), () => value),
};

function numbersProblems({ type, isGroup }: ColumnContext) {
  if (!hasWideNumbers(type)) return withoutNumbers(type);
  if (!isGroup) return [];
  const message = "Callers group by the column, and the numbers of groups are as the model's.";
  return invalid(
    "numbers",
    message,
    "Set `numbers` on the model, or take the column out of `aggregate.group_by`.",
  );
}

/** The database's type counts where none is declared. */
function hasWideNumbers(type: string | null): boolean {
  return type === null || isWideNumber(dataTypeOf(type));
}

function withoutNumbers(type: string | null) {
  const message = `The type ${formatValue(type)} has no numbers that JSON clients round, so this changes nothing.`;
  return invalid("numbers", message, "Remove `numbers`, or correct the column's `data_type`.");
}

/** A value that documents show. */
const example: Setting<unknown, Json | undefined, ColumnContext> = {
  isAdvisory: true,
  schema: described("a value that documents show, as rows have it", {}),
  read: (value, { type }) => {
    if (value === undefined) return reading([], () => undefined);
    if (isOfType(dataTypeOf(type), value)) return reading([], () => value);
    const message = `${formatValue(value)} is no value of the type ${formatValue(type)}.`;
    return reading(
      invalid("example", message, "Write a value as rows have it, or remove it."),
      () => undefined,
    );
  },
};

/** What consumers may rely on. */
const stability: Setting<"preview" | "stable", "preview" | undefined, unknown> = {
  schema: {
    ...described(
      "`preview`: the endpoint may change: `diff` reports its breaking changes as warnings",
      oneOf(["preview", "stable"]),
      "stable",
    ),
    [NOUN]: "a stability",
    [HINT]: "Write `stability: preview`, or `stable`, the default.",
  },
  read: (value) => reading([], () => (value === "preview" ? value : undefined)),
};

const WORDS = {
  [NOUN]: "a list of words",
  [HINT]: 'Write synonyms as a list: ["revenue", "turnover"].',
};

/** Other words that people use for the model or the column. */
const synonyms: Setting<readonly string[], readonly string[], unknown> = {
  isAdvisory: true,
  schema: {
    ...described(
      "other words by which a search finds the endpoint",
      listOf({ ...text, ...WORDS, [NOUN]: "a word" }),
    ),
    ...WORDS,
  },
  read: (value = []) => reading([], () => value.filter((word) => word !== undefined)),
};

/** The title of the endpoint in words. */
const title: Setting<string, string | undefined, unknown> = {
  isAdvisory: true,
  schema: {
    ...described(
      "the title of the endpoint in words, as pages, searches and OpenAPI have it; else it is made of the name",
      text,
    ),
    [NOUN]: "a title",
    [HINT]: "Write a few words: `title: Bridge volume per day, USD`.",
  },
  read: (value = "") => reading([], () => value.trim() || undefined),
};

const TIMEZONE_HINT = "Use a name of the IANA database, such as `Europe/Berlin` or `UTC`.";

/** The zone of timestamps without one. */
const timezone: Setting<string | null, string | undefined, unknown> = {
  schema: {
    ...described("the zone in which a timestamp without one is meant", textOrNull, "UTC"),
    [NOUN]: "a time zone",
    [HINT]: TIMEZONE_HINT,
  },
  read: (value) =>
    reading(
      (value ?? null) === null || isTimezone(value)
        ? []
        : invalid("timezone", `${formatValue(value)} is not a time zone.`, TIMEZONE_HINT),
      () => value ?? undefined,
    ),
};

/** `servedColumns` applies it. */
const undeclared: Setting<"serve", undefined, unknown> = {
  schema: {
    ...described(
      "`serve`: rows have the columns of the relation that the model does not declare too, as a catalog lists them",
      oneOf(["serve"]),
    ),
    [HINT]: "Write `undeclared: serve`, or remove it: declared columns are served.",
  },
  read: () => reading([], () => undefined),
};

/** The keys of `meta.routewright`, by what it belongs to (generator/docs/meta-routewright.md). */
export const META_ROUTEWRIGHT = {
  model: {
    aggregate,
    category,
    changes,
    cursor,
    fields,
    filter,
    filters,
    former_paths: formerPaths,
    fresh_by: freshBy,
    fresh_within: freshWithin,
    gone_after: goneAfter,
    lint,
    max_age: maxAge,
    numbers,
    on_failed_test: onFailedTest,
    require_fresh: requireFresh,
    rollup_of: rollUpOf,
    rows,
    stability,
    synonyms,
    timezone,
    title,
    undeclared,
  },
  column: { example, numbers: columnNumbers, synonyms, timezone },
} as const;

export type ModelSettings = Values<typeof META_ROUTEWRIGHT.model>;
export type ColumnSettings = Values<typeof META_ROUTEWRIGHT.column>;

export const META_ROUTEWRIGHT_SCHEMA = {
  model: schemaOf(META_ROUTEWRIGHT.model),
  column: schemaOf(META_ROUTEWRIGHT.column),
} as const;

const errorsIn = {
  model: validatorOf("meta-routewright"),
  column: validatorOf("meta-routewright-of-column"),
} as const;

/** Whether a value has the shape of a model's setting. */
export function fitsModelSetting(key: string, value: unknown): boolean {
  return errorsIn.model({ [key]: value }).length === 0;
}

/** Reads the `meta.routewright` of a model. */
export function readModelSettings(context: RoutewrightContext): TableReading<ModelSettings> {
  return readSettings<typeof META_ROUTEWRIGHT.model, RoutewrightContext>(
    META_ROUTEWRIGHT.model,
    written("model", context.routewright),
    () => context,
  );
}

/** Reads the `meta.routewright` of a column. */
export function readColumnSettings(value: JsonObject, context: ColumnContext): TableReading<ColumnSettings> {
  return readSettings<typeof META_ROUTEWRIGHT.column, ColumnContext>(
    META_ROUTEWRIGHT.column,
    written("column", value),
    () => context,
  );
}

function written(place: keyof typeof META_ROUTEWRIGHT, value: JsonObject) {
  const names = [...Object.keys(META_ROUTEWRIGHT[place]), "exclude_from_api"];
  return {
    value,
    schema: META_ROUTEWRIGHT_SCHEMA[place],
    errors: errorsIn[place](value),
    // Nothing foreign stands there.
    nearName: (key: string): NearName | null => nearName(key, names, true),
  };
}
