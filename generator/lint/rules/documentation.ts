import type { CatalogueEntry } from "../../catalogue/catalogue.js";
import { isPlainText } from "../../catalogue/types/json-schema.js";
import { dataTypeOf } from "../../catalogue/types/read-type.js";
import { isZoneless } from "../../catalogue/types/type-facts.js";
import {
  type Column,
  endpointTitle,
  PAGE_FIELDS,
  REQUIRE_FRESH,
  SORT_FIELDS,
} from "@routewright/runtime/model";
import { list, sentence, type Sentence } from "../../manifest/strings.js";
import { type Check, type CheckId, type LintViolation, violation } from "../checks.js";

/** A state of an aggregate function in a type of ClickHouse without its quoted texts and names. */
const STATE = /\bAggregateFunction\(/i;
const QUOTED = /(['"`])(?:\\.|(?!\1)[^\\])*\1/gs;

/** Rules about what callers can know of an endpoint and its values. */
export const documentationRules = {
  /** A key of `meta.api` or `meta.routewright` that nothing reads. */
  "unknown-key": ({ warnings }) =>
    warnings
      .filter(({ isUnknownKey }) => isUnknownKey)
      .flatMap(({ path, message, hint }) => violation(path, sentence`${message}`, sentence`${hint}`)),
  /** A parameter without a description. */
  "undescribed-parameter": ({ endpoint, apiPath }) =>
    endpoint.parameters.flatMap(({ name, column, description }, i) => {
      if (description !== undefined) return [];
      return violation(
        `${apiPath}.parameters[${String(i)}]`,
        sentence`The parameter ${name} has no description: callers see its name and type, and must guess what values of ${column} look like.`,
        "Add a `description` with an example value.",
      );
    }),
  /** A parameter that callers cannot use, or would misuse. */
  "reserved-parameter": ({ endpoint, apiPath }) =>
    endpoint.parameters.flatMap(({ name }, i) => {
      if (!RESERVED_NAMES.includes(name)) return [];
      const message = (SORT_FIELDS as readonly string[]).includes(name)
        ? sentence`The parameter ${name} cannot be used: an endpoint without \`sortable_fields\` answers 400 to it.`
        : sentence`The parameter ${name} filters here, and means paging or a choice of fields elsewhere.`;
      return violation(`${apiPath}.parameters[${String(i)}].name`, message, "Choose another name.");
    }),
  /** A model without a description, and columns without one. */
  "missing-description": ({ endpoint: { columns, description } }) => {
    const hint = "Write it in the model's schema.yml.";
    return [
      ...(description.trim() === "" ? violation("$.description", "The model has no description.", hint) : []),
      ...onColumns(
        columns.filter((column) => column.description === undefined),
        (names) => sentence`Columns have no description: ${names}.`,
        hint,
      ),
    ];
  },
  /** A column whose name says money and whose type is binary floating point. */
  "float-money": ({ endpoint }) => [
    ...onColumns(
      endpoint.columns.filter(({ name, type }) => MONEY.test(name) && dataTypeOf(type).kind === "float"),
      (names) =>
        sentence`Money as floating point: ${names}. Sums and comparisons are wrong by fractions of a cent.`,
      "Cast to `numeric` or `Decimal` in the model's SQL.",
    ),
    ...floatMeasures(endpoint),
  ],
  /** PostgreSQL's `numeric` without digits, the type of each `sum()`: no decimal type of a binary table holds all its values. */
  "numeric-without-digits": ({ endpoint }) =>
    onColumns(
      endpoint.columns.filter(({ type }) => {
        const parsed = dataTypeOf(type);
        return parsed.kind === "decimal" && parsed.precision === undefined;
      }),
      (names) => sentence`Decimal columns without digits are texts in Parquet and Arrow: ${names}.`,
      "Declare the digits as `data_type`, such as `numeric(38,2)`, or cast to it in the model's SQL.",
    ),
  /** States of aggregate functions, also in lists, tuples and maps, which ClickHouse stores for further aggregation. */
  "aggregate-state": ({ endpoint }) =>
    onColumns(
      endpoint.columns.filter(({ type }) => type !== null && STATE.test(type.replace(QUOTED, ""))),
      (names) => sentence`Columns hold states of aggregate functions, served as their results: ${names}.`,
      "Finish them in the model's SQL, with the function's `-Merge` form or `finalizeAggregation`.",
    ),
  /** An endpoint, or a former path of one, whose sunset has passed. */
  "past-sunset": ({ endpoint }, { today }) => {
    const isPast = (sunset: string | null): sunset is string =>
      sunset !== null && sunset.slice(0, 10) < today;
    const { deprecationDate: own, goneAt = null } = endpoint;
    return [
      ...(isPast(goneAt)
        ? violation(
            "$.meta.routewright.gone_after",
            sentence`The endpoint answers 410 since ${goneAt}.`,
            "Remove the model's `api:` tag.",
          )
        : []),
      ...(goneAt === null && isPast(own)
        ? violation(
            "$.deprecation_date",
            sentence`The sunset was on ${own.slice(0, 10)}, and the endpoint still answers.`,
            "Remove the model's `api:` tag, or set a later `deprecation_date`.",
          )
        : []),
      ...(endpoint.formerPaths ?? []).flatMap(({ path, sunset }, i) =>
        isPast(sunset)
          ? violation(
              `$.meta.routewright.former_paths[${String(i)}].sunset`,
              sentence`The sunset of the former path ${path} was on ${sunset.slice(0, 10)}, and it still answers.`,
              "Remove it from `former_paths`, or set a later `sunset`.",
            )
          : [],
      ),
    ];
  },
  /** A former path without a sunset. */
  "missing-sunset": ({ endpoint }) =>
    (endpoint.formerPaths ?? []).flatMap(({ path, sunset }, i) =>
      sunset === null
        ? violation(
            `$.meta.routewright.former_paths[${String(i)}]`,
            sentence`The former path ${path} has no sunset: responses do not tell callers how long it answers.`,
            'Add `sunset: "YYYY-MM-DD"`.',
          )
        : [],
    ),
  /** Columns whose schema in OpenAPI allows any value. */
  "untyped-column": ({ endpoint }) => {
    if (endpoint.columns.length > 0)
      return onColumns(
        endpoint.columns.filter(({ type }) => type === null),
        (names) =>
          sentence`Columns have no type: ${names}. OpenAPI allows any value there, and typed clients get \`unknown\`.`,
        TYPE_HINT,
      );
    return violation(
      "$.columns",
      "The model declares no columns: all columns of the relation are served, and typed clients get no fields.",
      TYPE_HINT,
    );
  },
  /** A declared column that a catalog does not list. */
  "missing-column": ({ endpoint, model }) =>
    model.absent.length === 0
      ? []
      : violation(
          "$.columns",
          sentence`${endpoint.relation.join(".")} lacks declared columns: ${list(model.absent)}.`,
          "Build the model again, correct their names in schema.yml, or remove them there.",
        ),
  /** Columns that only a catalog lists; the report has the YAML that declares them. */
  "undeclared-column": ({ model }) => {
    const isWhole = model.columns.length === 0 || model.routewright["undeclared"] === "serve";
    if (isWhole || model.undeclared.length === 0) return [];
    const items = model.undeclared.map(({ name, type }) => yamlOf(name, type));
    return violation(
      "$.columns",
      sentence`The relation has columns that are not declared, and so not served: ${list(model.undeclared.map(({ name }) => name))}.`,
      sentence`To serve them, add to its \`columns:\` in schema.yml ${list(items)}. To keep them back, turn the rule off for this model.`,
    );
  },
  /** A node that says no title; `lint` offers the one that pages make. */
  "missing-title": ({ endpoint }) => {
    if (endpoint.title !== undefined) return [];
    return violation(
      "$.config.meta.routewright.title",
      sentence`The endpoint has no title: pages call it ${endpointTitle(endpoint)}.`,
      "Write what it shows in `meta.routewright.title`: the subject, the grain, the unit.",
    );
  },
  /** A model without `meta.owner` and group. */
  "missing-owner": ({ model }) =>
    model.owner === null
      ? violation("$.meta", "The model names no owner.", "Name one: `meta: {owner: ...}`, or a `group`.")
      : [],
  /** A date filter on a text column, which compares texts: `2026-1-5` sorts after `2026-01-31`. */
  "text-date-filter": ({ endpoint, apiPath }) =>
    endpoint.parameters.flatMap(({ name, column, type }, i) => {
      const stored = endpoint.columns.find((each) => each.name === column)?.type ?? null;
      if (type !== "date" || stored === null || !isPlainText(dataTypeOf(stored))) return [];
      return violation(
        `${apiPath}.parameters[${String(i)}].column`,
        sentence`The parameter ${name} compares dates with the text in ${column}: only texts that are ISO dates compare as dates.`,
        "Make the column a date in the model's SQL, and declare it so.",
      );
    }),
  /** A PostgreSQL timestamp without a time zone, where the project does not name the zone. */
  "zoneless-timestamp": ({ endpoint, model }) => {
    if (typeof model.routewright["timezone"] === "string") return [];
    const zoned = model.columns.filter(({ routewright }) => typeof routewright["timezone"] === "string");
    return onColumns(
      endpoint.columns.filter(
        ({ name, type }) => isZoneless(dataTypeOf(type)) && !zoned.some((column) => column.name === name),
      ),
      (names) =>
        sentence`Timestamps without a time zone are served as UTC: ${names}. If they are local times, every value is wrong by the offset.`,
      'Store them as `timestamptz`, or name their zone: `meta: {routewright: {timezone: "UTC"}}` on the column or the model.',
    );
  },
} satisfies Partial<Record<CheckId, Check>>;

/** An item of `columns:` in one line. JSON texts are YAML. */
function yamlOf(name: string, type: string | null): string {
  const plain = (text: string): string => (/^[A-Za-z_][\w() ]*$/.test(text) ? text : JSON.stringify(text));
  return `- {name: ${plain(name)}${type === null ? "" : `, data_type: ${plain(type)}`}}`;
}

/** One violation for all columns that a rule finds. */
function onColumns(
  columns: readonly Column[],
  messageOf: (names: ReturnType<typeof list>) => Sentence,
  hint: string,
): readonly LintViolation[] {
  const names = list(columns.map(({ name }) => name));
  return columns.length === 0 ? [] : violation("$.columns", messageOf(names), hint);
}

/** Measures of money in floats; those of a model whose column is served are found there. */
function floatMeasures({ aggregate, columns }: CatalogueEntry): readonly LintViolation[] {
  const names = (aggregate?.measures ?? []).flatMap(({ name, metric }) => {
    const type = aggregate?.columns.find((column) => column.name === name)?.type ?? null;
    if (metric.kind !== "leaf" || dataTypeOf(type).kind !== "float") return [];
    const { value = "" } = metric;
    const isServed = columns.some((column) => column.name === value);
    return isServed || !(MONEY.test(name) || MONEY.test(value)) ? [] : [name];
  });
  if (names.length === 0) return [];
  return violation(
    aggregate?.of === "metrics" ? "$.type_params" : "$.config.meta.routewright.aggregate.measures",
    sentence`Money is summed as floating point: ${list(names)}. Sums are wrong by fractions of a cent, and differ from run to run.`,
    "Cast to `numeric` or `Decimal` in the model's SQL.",
  );
}

/** Names that mean paging, sorting or a choice of fields; where the endpoint has it, the model is invalid. */
const RESERVED_NAMES: readonly string[] = [...PAGE_FIELDS, ...SORT_FIELDS, "cursor", "fields", REQUIRE_FRESH];

/** Words in the name of a column that holds money. */
const MONEY =
  /(?:^|_)(?:amount|price|cost|fees?|revenue|turnover|balance|salary|payments?|usd|eur|gbp|chf|jpy)(?:_|$)/i;

const TYPE_HINT = "Give `data_type` in the model's schema.yml, or pass --catalog with dbt's catalog.json.";
