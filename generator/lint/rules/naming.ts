import { jsonKindOf } from "../../catalogue/types/json-schema.js";
import { dataTypeOf } from "../../catalogue/types/read-type.js";
import { isExcluded } from "../../catalogue/settings/meta-api.js";
import { hasResource } from "../../manifest/publishing.js";
import { nearPublishingTag } from "../../catalogue/tags.js";
import type { Model } from "../../manifest/model.js";
import { list, plain, sentence } from "../../manifest/strings.js";
import { type Check, type CheckId, type LintViolation, violation } from "../checks.js";

/** Rules about tags and the paths that they make. */
export const namingRules = {
  /** A resource that says its grain or window, which the next segments of the path say again. */
  "period-in-resource": ({ endpoint: { resource } }) => {
    const [, period] = PERIOD_AT_END.exec(resource) ?? [];
    if (period === undefined) return [];
    return violation(
      "$.tags",
      sentence`The resource ${resource} ends in ${period}, which is a grain or window.`,
      sentence`Say it in a tag of its own, such as \`granularity:daily\` or \`window:7d\`, and take ${`_${period}`} off the \`api:\` tag. A path in use moves: keep it with \`former_paths\`.`,
    );
  },
  /** Several granularities, of which the first counts. */
  "several-granularities": ({ model }) => {
    const tags = granularityTags(model);
    if (tags.length < 2) return [];
    return violation(
      "$.tags",
      sentence`Several tags name a granularity: ${list(tags)}. The first one counts.`,
      "Keep one; a period of the rows is a `window:` tag.",
    );
  },
  /** No granularity, in a project whose paths all have one. */
  "missing-granularity": ({ model }) =>
    granularityTags(model).length > 0
      ? []
      : violation(
          "$.tags",
          "No tag names a granularity.",
          "Tag the model with one, such as `granularity:daily` or `granularity:latest`.",
        ),
  /** Rows by day, week or month without a column that says which. */
  "grain-without-column": ({ endpoint: { granularity, columns } }) => {
    const isTimed = granularity !== null && GRAINS.has(granularity);
    if (!isTimed || columns.length === 0 || columns.some(isPeriod)) return [];
    return violation(
      "$.columns",
      sentence`The granularity is ${granularity}, and no column is a date or time: rows do not say which period they are of.`,
      "Add the column to the model, or declare it in schema.yml; or tag the granularity that the rows have.",
    );
  },
  /** A name that openapi-python-client uses in the class of a row. */
  "python-client-name": ({ endpoint: { columns, aggregate } }) => {
    const served = [...columns, ...(aggregate?.columns ?? [])].map(({ name }) => name);
    const names = [...new Set(served)].filter((name) => PYTHON_CLIENT_NAMES.has(name));
    if (names.length === 0) return [];
    return violation(
      "$.columns",
      sentence`Clients of openapi-python-client cannot read or write rows with these columns: ${list(names)}.`,
      "Rename them in the model's SQL: `d` may be `date`. Callers of a path in use notice it.",
    );
  },
} satisfies Partial<Record<CheckId, Check>>;

/** Variables and members of each class that openapi-python-client 0.29 makes; it gives a property of that name no other one. */
export const PYTHON_CLIENT_NAMES: ReadonlySet<string> = new Set([
  "d",
  "cls",
  "field_dict",
  "additional_properties",
  "additional_keys",
  "from_dict",
  "to_dict",
]);

function granularityTags({ tags }: Model): readonly string[] {
  return [...new Set(tags.filter((tag) => tag.startsWith("granularity:")))];
}

/** Granularities whose rows are each of one period. */
const GRAINS: ReadonlySet<string> = new Set([
  "hourly",
  "daily",
  "weekly",
  "monthly",
  "quarterly",
  "yearly",
  "annual",
]);

const PERIOD_AT_END =
  /_((?:hourly|daily|weekly|monthly|quarterly|yearly|latest|all_time|in_ranges)|(?:last_)?\d+(?:h|d|w|m|q|y))$/i;

/** A date or a time by its type; without a type, or as a text, by its name. */
function isPeriod({ name, type }: { readonly name: string; readonly type: string | null }): boolean {
  const kind = jsonKindOf(dataTypeOf(type));
  if (kind === "date" || kind === "dateTime") return true;
  return PERIOD_NAME.test(name);
}

const PERIOD_NAME = /(?:^|_)(?:date|day|week|month|quarter|year|hour|time|timestamp|period|ds|dt|at)(?:_|$)/i;

/** Tags of a model that is not in production on purpose. */
const OTHER_STAGES: ReadonlySet<string> = new Set([
  "dev",
  "development",
  "test",
  "staging",
  "draft",
  "wip",
  "experimental",
  "deprecated",
  "archived",
]);

/**
 * What keeps a model without an endpoint from having one, where its tags, its `meta.api` or its name ask for one. `prefix`:
 * how the names of the project's published models begin; null where they have nothing in common.
 */
export function forgottenTags(model: Model, prefix: string | null): readonly LintViolation[] {
  const { tags, api } = model;
  if (isExcluded(model) || tags.some((tag) => OTHER_STAGES.has(tag.trim().toLowerCase()))) return [];
  const resource = tags.find((tag) => hasResource([tag]) || nearPublishingTag(tag) === "api:<resource>");
  if (resource === undefined)
    return withoutResource(model, api !== null && tags.includes("production"), prefix);
  const production = tags.find((tag) => nearPublishingTag(tag) === "production");
  const wrong = hasResource(tags) ? (production ?? null) : resource;
  const message =
    wrong === null
      ? sentence`The model is tagged ${resource} and not \`production\`, so it has no endpoint.`
      : sentence`The tag ${wrong} is misspelt, so the model has no endpoint.`;
  const hint = plain(
    "Write `production` and `api:<resource>` exactly so. A model that is not ready may be tagged `dev`.",
  );
  return violation("$.tags", message, hint);
}

function withoutResource(
  { name }: Model,
  hasSettings: boolean,
  prefix: string | null,
): readonly LintViolation[] {
  if (hasSettings)
    return violation(
      "$.tags",
      "The model has `meta.api` and no `api:` tag, so it has no endpoint.",
      "Tag it `api:<resource>`, or remove `meta.api`.",
    );
  if (prefix === null || !name.startsWith(prefix)) return [];
  return violation(
    "$.name",
    sentence`The model is named as published ones are, ${`${prefix}…`}, and has no \`api:\` tag, so it has no endpoint.`,
    "Tag it `production` and `api:<resource>`. A model that is not ready may be tagged `dev`; one that is not for the API needs another name.",
  );
}

/** Share of a project's published models, from this number of models, whose names begin alike. */
const USUAL = { share: 0.8, models: 5 } as const;

/** The first word of the names of published models, with its `_`. */
export function prefixOf(names: readonly string[]): string | null {
  const counts = new Map<string, number>();
  for (const name of names) {
    const [prefix] = /^[^_]+_/.exec(name) ?? [];
    if (prefix !== undefined) counts.set(prefix, (counts.get(prefix) ?? 0) + 1);
  }
  const [usual] = [...counts].filter(([, count]) => count >= names.length * USUAL.share);
  return usual === undefined || names.length < USUAL.models ? null : usual[0];
}
