import { digestOf } from "@routewright/runtime/model";
import { ENTRY_END, entryTextsIn, isAsWritten } from "../catalogue/catalogue-file.js";
import type { CatalogueRecord } from "../catalogue/catalogue-schema.js";
import type { CatalogueEntry } from "../catalogue/catalogue.js";
import type { KnownEntries } from "../catalogue/model-input.js";
import { visibleJson } from "../manifest/strings.js";

/** What a folder holds that would be read and rendered again as it is. */
export class Kept implements KnownEntries {
  readonly #files: ReadonlyMap<string, string>;
  readonly #digests: ReadonlyMap<string, string>;
  readonly #entries: ReadonlyMap<string, CatalogueEntry>;
  readonly #inputs: ReadonlyMap<string, string>;
  readonly #texts: ReadonlyMap<CatalogueEntry, string>;
  readonly #allTexts: ReadonlySet<string>;
  readonly #paths: ReadonlyMap<string, string>;
  readonly #schemas: ReadonlyMap<string, string>;

  /** `files`: those that are as the catalogue lists them. */
  constructor(catalogue: string, record: CatalogueRecord, files: ReadonlyMap<string, string>) {
    const { endpoints, inputs = {}, files: digests = {} } = record;
    const texts = entryTextsIn(catalogue);
    const document = files.get("openapi.json") ?? "";
    this.#files = files;
    this.#digests = new Map(Object.entries(digests));
    this.#entries = new Map(endpoints.map((entry) => [entry.uniqueId, entry]));
    this.#inputs = new Map(Object.entries(inputs));
    this.#texts = new Map(endpoints.map((entry, i) => [entry, `${texts[i] ?? ""}${ENTRY_END}`]));
    this.#allTexts = new Set(texts);
    this.#paths = membersOf(document, "paths", 2);
    this.#schemas = membersOf(document, "schemas", 4);
  }

  entryOf(uniqueId: string, input: string): CatalogueEntry | undefined {
    return this.#inputs.get(uniqueId) === input ? this.#entries.get(uniqueId) : undefined;
  }

  /** The text of an entry that is one of the folder's. */
  entryText(entry: CatalogueEntry): string | undefined {
    return this.#texts.get(entry);
  }

  /** Whether the folder was rendered from an entry of this text. */
  hasEntry(text: string): boolean {
    return this.#allTexts.has(text.slice(0, -ENTRY_END.length));
  }

  textOf(file: string): string | undefined {
    return this.#files.get(file);
  }

  /** The digest of a file's text. */
  digestOf(file: string, text: string): string {
    return (this.#files.get(file) === text ? this.#digests.get(file) : undefined) ?? digestOf(text);
  }

  /** The operations of a path, as `openapi.json` has them. */
  operationsOf(path: string): string | undefined {
    return this.#paths.get(path);
  }

  /** A schema of the components of `openapi.json`. */
  schemaOf(name: string): string | undefined {
    return this.#schemas.get(name);
  }
}

export const CATALOGUE_FILE = "catalogue.json";

/**
 * What a rendering may keep of a folder: the files that are as `catalogue.json` lists them, where this version of the generator wrote
 * them.
 */
export function keptOf(textOf: (file: string) => string | undefined, generator: string): Kept | undefined {
  const catalogue = textOf(CATALOGUE_FILE);
  if (catalogue === undefined || !catalogue.includes(`\n  "generator": ${visibleJson(generator)},\n`)) return;
  if (!isAsWritten(Buffer.from(catalogue))) return;
  const record = JSON.parse(catalogue) as CatalogueRecord;
  const files = Object.entries(record.files ?? {}).flatMap(([file, digest]) => {
    const text = textOf(file);
    return text === undefined || digestOf(text) !== digest ? [] : [[file, text] as const];
  });
  return new Kept(catalogue, record, new Map(files));
}

/** The texts of an object's members in a rendered document, by their key; `indent`: spaces before the object's own key. */
function membersOf(document: string, key: string, indent: number): ReadonlyMap<string, string> {
  const margin = `\n${" ".repeat(indent)}`;
  const begin = `${margin}"${key}": {`;
  const from = document.indexOf(begin);
  if (from === -1) return new Map();
  const object = document.slice(from + begin.length, document.indexOf(`${margin}}`, from));
  const members = object.slice(`${margin}  "`.length).split(`,${margin}  "`);
  return new Map(
    members.map((member) => {
      const at = member.indexOf('": ');
      return [member.slice(0, at), member.slice(at + '": '.length)] as const;
    }),
  );
}
