import { isTier, TIERS } from "@routewright/runtime/model";
import { isObject } from "../manifest/json.js";
import type { Model } from "../manifest/model.js";
import type { Problem } from "./catalogue.js";
import { type Fault, shown } from "./meta-api/fault.js";
import { checkRules } from "./meta-api/rules.js";
import type { MetaApi } from "./meta-api/schema.js";
import { checkShape, unknownKeys } from "./meta-api/shape.js";
import { pathOf, pathProblems } from "./path.js";
import { LEGACY, settingsOf, type Settings } from "./settings.js";
import type { ModelTags } from "./tags.js";

export interface CheckedModel {
  /** Null when the tags make none that could be served. */
  readonly path: string | null;
  /** Null when a problem forbids an endpoint. */
  readonly settings: Settings | null;
  /** What the author says of the parameters, by name. */
  readonly descriptions: ReadonlyMap<string, string>;
  readonly problems: readonly Problem[];
  /** Told, but no reason to refuse. */
  readonly warnings: readonly Problem[];
}

/** Whether `meta.api` says that the model wants no endpoint. */
export function isExcluded(model: Model): boolean {
  return isObject(model.api?.value) && model.api.value["exclude_from_api"] === true;
}

/** Finds every problem of a published model: of its tags, its relation and its `meta.api`. */
export function checkModel(model: Model, tags: ModelTags): CheckedModel {
  const { api, faults } = checkApi(model);
  const badPath = pathProblems(tags);
  const problems: Problem[] = [
    ...badPath.map((problem) => ({ model: model.uniqueId, path: "$.tags", ...problem })),
    ...relationProblems(model),
    ...faults.map((fault) => problemOf(model, fault)),
  ];
  return {
    path: badPath.length > 0 ? null : pathOf(tags),
    settings: problems.length > 0 ? null : api === null ? LEGACY : settingsOf(api),
    descriptions: descriptionsOf(api),
    problems,
    warnings: [
      ...unknownKeys(model.api?.value).map((fault) => problemOf(model, fault)),
      ...nearTiers(model, tags),
    ],
  };
}

/** A tag that was meant for a tier and names none is told: it would leave the endpoint open to more than was meant. */
function nearTiers({ uniqueId, tags }: Model, { tier }: ModelTags): Problem[] {
  const near = tags.filter((tag) => /^tier[\s_-]*\d+$/i.test(tag) && !isTier(tag));
  return near.map((tag) => ({
    model: uniqueId,
    path: "$.tags",
    message: `The tag ${shown(tag)} names no tier, so the endpoint is ${tier ?? "of the default tier"}.`,
    hint: `Write one of ${TIERS.join(", ")}.`,
  }));
}

function checkApi(model: Model): { api: MetaApi | null; faults: readonly Fault[] } {
  if (model.api === null) return { api: null, faults: [] };
  // `meta.api:` with nothing behind it means an empty record, not a legacy model (decisions.md §A).
  const shape = checkShape(model.api.value ?? {});
  const names = model.columns.map(({ name }) => name);
  const faults = [...shape.faults, ...(shape.sound ? checkRules(shape.sound, names) : [])];
  return { api: faults.length === 0 ? (shape.sound as MetaApi) : null, faults };
}

function descriptionsOf(api: MetaApi | null): ReadonlyMap<string, string> {
  const described = (api?.parameters ?? []).filter(({ description = "" }) => description.trim() !== "");
  return new Map(described.map(({ name, description = "" }) => [name, description]));
}

function problemOf(model: Model, { at, message, hint }: Fault): Problem {
  const base = model.api?.path ?? "$";
  const path = at === "" ? base : at.startsWith("[") ? base + at : `${base}.${at}`;
  return { model: model.uniqueId, path, message, hint };
}

function relationProblems(model: Model): Problem[] {
  const names = [
    { path: "$.schema", name: model.schema },
    { path: "$.alias", name: model.alias },
  ];
  return names.flatMap(({ path, name }) => {
    const message = identifierFault(name);
    return message
      ? [{ model: model.uniqueId, path, message, hint: "Name the relation as it is in the warehouse." }]
      : [];
  });
}

function identifierFault(name: string): string | null {
  if (name === "") return "The name is missing or empty.";
  return name.includes("\0") ? "The name holds the character U+0000, which no identifier can." : null;
}
