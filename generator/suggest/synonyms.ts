import { endpointTitle } from "@routewright/runtime/model";
import type { CatalogueEntry } from "../catalogue/catalogue.js";
import { isObject, textOr } from "../manifest/json.js";
import type { SemanticModel, Semantics } from "../manifest/semantic-layer.js";

/** More names would be read by nobody. */
const MOST_SYNONYMS = 8;

/** Labels that the semantic layer has for what the endpoint's model holds, each with a word that the endpoint itself has not. */
export function otherNames(entry: CatalogueEntry, semantics: Semantics): readonly string[] {
  const known = new Set(wordsOf(ownTexts(entry)));
  const found: string[] = [];
  for (const label of labelsOf(entry, semantics)) {
    const words = wordsOf(label);
    if (words.every((word) => known.has(word))) continue;
    found.push(label);
    for (const word of words) known.add(word);
  }
  return found.slice(0, MOST_SYNONYMS);
}

function labelsOf({ uniqueId }: CatalogueEntry, { models, metrics }: Semantics): readonly string[] {
  const own = models.filter(({ model, isPrivate }) => model === uniqueId && !isPrivate);
  const measures = new Set(own.flatMap((each) => [...each.measures.keys()].filter(isPublicIn(each))));
  const over = metrics.filter(({ simple }) => {
    if (simple === null) return false;
    const { measure } = simple;
    if (typeof measure === "string") return measures.has(measure);
    return !measure.isPrivate && own.some(({ name }) => name === measure.model);
  });
  return [...own.flatMap(labelsIn), ...over.map(({ label }) => label)].filter((label) => label !== "");
}

const isPublicIn =
  ({ measures, dimensions }: SemanticModel) =>
  (name: string): boolean =>
    measures.get(name)?.isPrivate !== true &&
    dimensions.every((dimension) => dimension.name !== name || !dimension.isPrivate);

/** Of a semantic model, its measures and its dimensions. */
function labelsIn(model: SemanticModel): readonly string[] {
  const { label, measures, dimensions } = model.json;
  const parts = [measures, dimensions]
    .flat()
    .filter(isObject)
    .filter(({ name }) => isPublicIn(model)(textOr(name, "")));
  return [label, ...parts.map((part) => part["label"])].map((text) => textOr(text, "").trim());
}

/** What a search reads of an endpoint. */
function ownTexts(entry: CatalogueEntry): string {
  const { path, description, columns, synonyms = [] } = entry;
  const texts = columns.flatMap((column) => [column.name, column.description ?? ""]);
  return [path, endpointTitle(entry), description, ...texts, ...synonyms].join(" ");
}

/** Words of names and sentences, without a plural's end. */
function wordsOf(text: string): readonly string[] {
  const words =
    text
      .replace(/(\p{Ll})(\p{Lu})/gu, "$1 $2")
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? [];
  return words.map((word) => word.replace(/([^s])s$/, "$1"));
}
