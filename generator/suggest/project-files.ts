import { existsSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { dirname, join, posix, resolve, sep } from "node:path";
import { stringify } from "yaml";
import { type JsonObject, isObject, objectOr, textOr } from "../manifest/json.js";
import { META, type ModelEdit, type NewFile, type Suggestion, TAGS } from "./suggestion.js";
import { contentOf, edited, parsed, type YamlStep } from "./yaml-edit.js";

/** A model whose YAML is edited. */
export interface EditedModel {
  readonly uniqueId: string;
  readonly name: string;
  /** `project://models/shop/orders.yml`, as dbt writes it; null where no YAML has the model. */
  readonly patchPath: string | null;
  /** Its SQL file in the project. */
  readonly file: string;
  /** The node as dbt merged it: what its YAML has not stands in a folder or in the SQL. */
  readonly json: JsonObject;
}

/** A YAML file of the project, before and after. */
export interface EditedFile {
  /** In the project, with `/`. */
  readonly file: string;
  readonly before: string | null;
  readonly after: string;
}

/** The suggestions that the project's files do not follow yet, and the files with them. */
export interface Patch {
  readonly suggestions: readonly Suggestion[];
  readonly files: readonly EditedFile[];
  /** Suggestions that no file can take, with the reason. */
  readonly notes: readonly string[];
}

/** Edits the YAML of models where dbt has it, in the project's folder. */
export function patchOf(
  suggestions: readonly Suggestion[],
  models: ReadonlyMap<string, EditedModel>,
  folder: string,
): Patch {
  const texts = new Map<string, { readonly before: string | null; text: string }>();
  const kept: Suggestion[] = [];
  const notes = new Set<string>();
  const layout = new ModelFiles(folder);
  for (const suggestion of suggestions) {
    if (suggestion.files !== undefined) {
      const added = newFiles(folder, suggestion, models);
      if (added === null)
        notes.add(`${suggestion.subject} would stand outside of the project: it is not written.`);
      else if (added.length > 0) {
        kept.push(suggestion);
        for (const { file, text } of added) texts.set(file, { before: null, text });
      }
      continue;
    }
    const model = models.get(suggestion.model);
    if (model === undefined || suggestion.edits.length === 0) {
      kept.push(suggestion);
      continue;
    }
    const file = layout.of(model);
    const found = texts.get(file) ?? open(folder, file, model.name);
    if (found === null) {
      notes.add(`${file} is outside of the project: nothing of ${model.uniqueId} is written.`);
      continue;
    }
    const made = withEdits(found.text, model, suggestion.edits);
    if (made === null) {
      notes.add(
        `${file} cannot take ${suggestion.kind} of ${suggestion.subject} (${model.name}) by itself: edit it by hand.`,
      );
      kept.push(suggestion);
    } else if (made !== found.text) {
      kept.push(suggestion);
      texts.set(file, { before: found.before, text: made });
    }
  }
  const files = [...texts].map(([file, { before, text }]) => ({ file, before, after: text }));
  return { suggestions: kept, files, notes: [...notes] };
}

/** None where the project has one of them; null where one would stand outside of it. Beside a model of a package nothing is written. */
function newFiles(
  folder: string,
  { files = [], model }: Suggestion,
  models: ReadonlyMap<string, EditedModel>,
): readonly NewFile[] | null {
  const isOwn = models.has(model);
  const placed = files.map((each) =>
    isOwn ? each : { ...each, file: posix.join("models", posix.basename(each.file)) },
  );
  if (!placed.every(({ file }) => isInside(folder, file))) return null;
  return placed.some(({ file }) => existsSync(resolve(folder, file))) ? [] : placed;
}

/** The YAML files that have models of the project, as dbt names them, else by a look into the folders above the SQL. */
class ModelFiles {
  readonly #folder: string;
  /** By file: the names of its models. */
  readonly #names = new Map<string, ReadonlySet<string>>();
  readonly #inFolder = new Map<string, readonly string[]>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** The YAML that has the model; a new one beside its SQL where none has it. */
  of({ patchPath, file, name }: EditedModel): string {
    if (patchPath !== null) return patchPath.replace(/^[^:]+:\/\//, "").replaceAll("\\", "/");
    for (let folder = posix.dirname(file); folder !== "." && folder !== "/"; folder = posix.dirname(folder)) {
      const found = this.#filesIn(folder).find((each) => this.#namesIn(each).has(name));
      if (found !== undefined) return found;
    }
    return posix.join(posix.dirname(file), `${name}.yml`);
  }

  #filesIn(folder: string): readonly string[] {
    const known = this.#inFolder.get(folder);
    if (known !== undefined) return known;
    const path = pathIn(this.#folder, folder);
    const names = existsSync(path) ? readdirSync(path).filter((each) => /\.ya?ml$/.test(each)) : [];
    const files = names.sort().map((each) => posix.join(folder, each));
    this.#inFolder.set(folder, files);
    return files;
  }

  #namesIn(file: string): ReadonlySet<string> {
    const known = this.#names.get(file);
    if (known !== undefined) return known;
    const names = new Set(
      modelsIn(readFileSync(pathIn(this.#folder, file), "utf8")).map(({ name }) => textOr(name, "")),
    );
    this.#names.set(file, names);
    return names;
  }
}

function open(
  folder: string,
  file: string,
  model: string,
): { readonly before: string | null; readonly text: string } | null {
  const path = resolve(folder, file);
  if (!isInside(folder, file)) return null;
  const before = existsSync(path) ? readFileSync(path, "utf8") : null;
  return { before, text: before ?? stringify({ models: [{ name: model }] }) };
}

function isInside(folder: string, file: string): boolean {
  const path = resolve(folder, file);
  return path.startsWith(resolve(folder) + sep) && leadsInto(folder, path);
}

/** Whether links on the way to a file, which may not be there yet, leave a folder. */
function leadsInto(folder: string, path: string): boolean {
  let known = path;
  while (!existsSync(known)) known = dirname(known);
  return `${realpathSync(known)}${sep}`.startsWith(`${realpathSync(folder)}${sep}`);
}

/** Null where one of the edits cannot be made. */
function withEdits(text: string, model: EditedModel, edits: readonly ModelEdit[]): string | null {
  let now = text;
  for (const edit of edits) {
    const entry = entryIn(now, model.name);
    const at = placed(edit.at, entry);
    if (at === null || overwrites(at, entry, model)) return null;
    const next = edited(now, { ...edit, at: ["models", { name: model.name }, ...at] });
    if (next === null) return null;
    now = next;
  }
  return now;
}

function modelsIn(text: string): readonly JsonObject[] {
  const { models } = objectOr(contentOf(parsed(text)));
  return Array.isArray(models) ? models.filter(isObject) : [];
}

function entryIn(text: string, name: string): JsonObject {
  return modelsIn(text).find((model) => model["name"] === name) ?? {};
}

/** dbt takes `meta` and `tags` beside `config` or in it; 2.0 in it only. */
function placed(at: readonly YamlStep[], entry: JsonObject): readonly YamlStep[] | null {
  const [first, ...rest] = at;
  if (first === META) return entry["meta"] !== undefined ? ["meta", ...rest] : ["config", "meta", ...rest];
  if (first === TAGS) return entry["tags"] !== undefined ? ["tags", ...rest] : ["config", "tags", ...rest];
  if (first === undefined) return null;
  const [, second] = at;
  // Under the other name dbt knows the same tests.
  const column = typeof second === "object" ? columnIn(entry, second.name) : null;
  if (column !== null && at[2] === "data_tests" && column["tests"] !== undefined)
    return [first, second as YamlStep, "tests"];
  return at;
}

function columnIn(entry: JsonObject, name: string): JsonObject {
  const columns: readonly unknown[] = Array.isArray(entry["columns"]) ? entry["columns"] : [];
  return objectOr(columns.find((column) => isObject(column) && textOr(column["name"], "") === name));
}

/**
 * Whether the edit would replace what a folder or the SQL says, or be replaced by it: dbt merges only the first level of `meta`, adds up
 * `tags`, and takes every other key as a whole.
 */
function overwrites(at: readonly YamlStep[], entry: JsonObject, { json }: EditedModel): boolean {
  const [key, inner] = at[0] === "config" ? at.slice(1) : at;
  const [own, merged] = [objectOr(entry["config"]), objectOr(json["config"])];
  if (key === "meta" && typeof inner === "string") {
    const all = [entry["meta"], own["meta"]].map((meta) => objectOr(meta)[inner]);
    const isElsewhere = [json["meta"], merged["meta"]].some((meta) => isSaid(objectOr(meta)[inner]));
    return isElsewhere && all.every((value) => value === undefined);
  }
  if (at[0] !== "config" || key === "tags" || typeof key !== "string") return false;
  return own[key] === undefined && isSaid(merged[key]);
}

function isSaid(value: unknown): boolean {
  return typeof value === "object" && value !== null ? Object.keys(value).length > 0 : (value ?? "") !== "";
}

/** The path of a file of the project on this machine. */
export function pathIn(folder: string, file: string): string {
  return join(folder, ...file.split("/"));
}
