import { endpointTitle } from "@routewright/runtime/model";
import { dataTypeOf } from "../catalogue/types/read-type.js";
import type { CatalogueEntry } from "../catalogue/catalogue.js";
import type { Graph } from "../manifest/graph.js";
import { objectOr, textOr } from "../manifest/json.js";
import type { Model } from "../manifest/model.js";
import type { Semantics } from "../manifest/semantic-layer.js";
import {
  META,
  type RelationFacts,
  setting,
  type Suggestion,
  type SuggestionKind,
  TAGS,
} from "./suggestion.js";
import { otherNames } from "./synonyms.js";
import type { YamlEdit } from "./yaml-edit.js";

/** What the rules read beside the endpoint. */
export interface SuggestContext {
  readonly model: Model;
  readonly graph: Graph;
  readonly semantics: Semantics;
  readonly facts: RelationFacts;
  /** Comments of the database by column. */
  readonly comments: ReadonlyMap<string, string>;
  /** Whether the database shows that only dbt's builds change its rows. */
  readonly couldPromise: boolean;
  /** dbt's version, such as `1.11.16`; null where the manifest does not say it. */
  readonly dbtVersion: string | null;
}

type SuggestRule = (entry: CatalogueEntry, context: SuggestContext) => readonly Suggestion[];

/** Settings, texts and tests that an endpoint's model lacks. None of them makes a call fail that works. */
export function suggestSettings(entry: CatalogueEntry, context: SuggestContext): readonly Suggestion[] {
  return RULES.flatMap((rule) => rule(entry, context));
}

function made(
  entry: CatalogueEntry,
  kind: SuggestionKind,
  subject: string,
  {
    reason,
    figures = [],
    edits,
  }: Pick<Suggestion, "reason" | "edits"> & Partial<Pick<Suggestion, "figures">>,
): readonly Suggestion[] {
  return [{ kind, model: entry.uniqueId, path: entry.path, subject, reason, figures, edits }];
}

const cursor: SuggestRule = (entry, { model: { provenKeys } }) => {
  const [key] = provenKeys;
  if (key === undefined || entry.pagination === null || entry.cursor || entry.aggregate) return [];
  const reason = `${key.join(", ")} identifies a row: pages by cursor skip and repeat none, and each is as fast as the first`;
  return made(entry, "cursor", "cursor", { reason, edits: [setting("cursor", true)] });
};

const sort: SuggestRule = (entry, { model: { provenKeys } }) => {
  if (entry.pagination === null || entry.sort.length > 0 || entry.aggregate || entry.legacy) return [];
  const time = entry.columns.find(({ type }) => ["date", "timestamp"].includes(dataTypeOf(type).kind))?.name;
  const keys = (provenKeys[0] ?? []).filter((name) => name !== time);
  const order = [
    ...(time === undefined ? [] : [{ column: time, direction: "DESC" }]),
    ...keys.map((column) => ({ column, direction: "ASC" })),
  ];
  if (order.length === 0) return [];
  const edit: YamlEdit = { at: [META, "api", "sort"], value: order, how: "set" };
  return made(entry, "sort", "sort", {
    reason: "pages without an order may repeat and skip rows",
    edits: [edit],
  });
};

/** Fewer columns are read as a whole. */
const MANY_COLUMNS = 12;

const fields: SuggestRule = (entry) => {
  const { length } = entry.columns;
  if (entry.fields || entry.aggregate || length < MANY_COLUMNS) return [];
  const reason = "callers who need a few columns read all of them";
  return made(entry, "fields", "fields", {
    reason,
    figures: [`${String(length)} columns`],
    edits: [setting("fields", true)],
  });
};

const changes: SuggestRule = (entry, { couldPromise }) => {
  if (!couldPromise || entry.changes !== undefined) return [];
  const reason =
    "nothing but builds was found to change its rows: results are kept until the next one, and a 304 needs no database";
  return made(entry, "changes", "changes", { reason, edits: [setting("changes", "on_build")] });
};

const title: SuggestRule = (entry) => {
  if (entry.title !== undefined) return [];
  const text = endpointTitle(entry);
  const edits = [setting("title", text)];
  return made(entry, "title", text, { reason: "pages make this title of the name: correct it", edits });
};

const synonyms: SuggestRule = (entry, { semantics }) => {
  const names = otherNames(entry, semantics);
  if (names.length === 0) return [];
  const at = [META, "routewright", "synonyms"];
  const edits = names.map((value): YamlEdit => ({ at, value, how: "add" }));
  const reason = "the semantic layer calls it so, in words by which a search does not find it";
  return made(entry, "synonyms", names.join(", "), { reason, edits });
};

/** Texts of the database, or of the nodes above that have a column of the name. */
const descriptions: SuggestRule = (entry, { model, graph, comments }) => {
  if (model.columns.length === 0) return [];
  const parents = graph.get(model.uniqueId)?.parents ?? [];
  return entry.columns.flatMap(({ name, description }) => {
    if (description !== undefined) return [];
    const above = parents.flatMap((id) => {
      const column = objectOr(objectOr(graph.get(id)?.json["columns"])[name]);
      const text = textOr(column["description"], "").trim();
      return text === "" ? [] : [{ text, from: id }];
    });
    const comment = comments.get(name)?.trim() ?? "";
    const [found] = comment === "" ? above : [{ text: comment, from: "the database's comment" }];
    if (found === undefined || /\{\{|\{%/.test(found.text)) return [];
    const edit: YamlEdit = { at: ["columns", { name }, "description"], value: found.text, how: "set" };
    return made(entry, "description", name, {
      reason: `it has none; this one is of ${found.from}`,
      edits: [edit],
    });
  });
};

const tier: SuggestRule = (entry) => {
  if (entry.hasTierTag) return [];
  const reason = `no tag names its tier: \`defaultTier\` decides, which is ${entry.tier}`;
  return made(entry, "tier", entry.tier, { reason, edits: [{ at: [TAGS], value: entry.tier, how: "add" }] });
};

/** Values of a column that has as many, and the share of the rows that the statistics must cover. */
const MOST_VALUES = 12;
const LEAST_ROWS = 1000;

const acceptedValues: SuggestRule = (entry, { facts, model, dbtVersion }) => {
  const { rows } = facts;
  if (rows === null || rows < LEAST_ROWS || entry.private) return [];
  return entry.columns.flatMap(({ name, type, acceptedValues: known, labels, private: isPrivate }) => {
    const found = facts.columns.get(name);
    const isText = dataTypeOf(type).kind === "text" && known === undefined && labels === undefined;
    if (!isText || isPrivate || found === undefined || !model.columns.some((column) => column.name === name))
      return [];
    const { common, commonShare, distinct } = found;
    const isAll = distinct === common.length && commonShare > 0.9999;
    if (!isAll || distinct < 2 || distinct > MOST_VALUES) return [];
    const values = common.toSorted();
    const [major = 0, minor = 0] = (dbtVersion ?? "").split(".").map(Number);
    // Since dbt 1.10 arguments of a test stand under `arguments`; before, it does not know that key.
    const isNested = major > 1 || (major === 1 && minor >= 11);
    const test = { accepted_values: isNested ? { arguments: { values } } : { values } };
    const key = major > 1 || (major === 1 && minor >= 8) ? "data_tests" : "tests";
    const edit: YamlEdit = { at: ["columns", { name }, key], value: test, how: "add" };
    return made(entry, "accepted-values", name, {
      reason:
        "all rows that the statistics sampled have one of these values: as a test they are an enumeration in OpenAPI",
      figures: [`${values.join(", ")} (sample)`],
      edits: [edit],
    });
  });
};

const RULES: readonly SuggestRule[] = [
  cursor,
  sort,
  fields,
  changes,
  acceptedValues,
  title,
  synonyms,
  descriptions,
  tier,
];
