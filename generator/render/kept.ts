import { digestOf } from "@routewright/runtime/model";
import { catalogueOfRecord, ENTRY_END, entryTextsIn, isAsWritten } from "../catalogue/catalogue-file.js";
import type { CatalogueRecord } from "../catalogue/catalogue-schema.js";
import type { Catalogue, CatalogueEntry } from "../catalogue/catalogue.js";
import type { KnownEntries } from "../catalogue/model-input.js";
import { visibleJson } from "../manifest/strings.js";

/** What a folder holds that would be read and rendered again as it is. */
export class Kept implements KnownEntries {
  readonly #record: CatalogueRecord;
  readonly #files: ReadonlyMap<string, Buffer>;
  readonly #digests: ReadonlyMap<string, string>;
  readonly #entries: ReadonlyMap<string, CatalogueEntry>;
  readonly #inputs: ReadonlyMap<string, string>;
  readonly #texts: ReadonlyMap<CatalogueEntry, string>;
  readonly #paths: ReadonlyMap<string, Buffer>;
  readonly #schemas: ReadonlyMap<string, Buffer>;

  /** `files`: those that are as the catalogue lists them. */
  constructor(catalogue: string, record: CatalogueRecord, files: ReadonlyMap<string, Buffer>) {
    const { endpoints, inputs = {}, files: digests = {} } = record;
    this.#record = record;
    const texts = entryTextsIn(catalogue);
    const document = files.get("openapi.json") ?? Buffer.alloc(0);
    this.#files = files;
    this.#digests = new Map(Object.entries(digests));
    this.#entries = new Map(endpoints.map((entry) => [entry.uniqueId, entry]));
    this.#inputs = new Map(Object.entries(inputs));
    this.#texts = new Map(endpoints.map((entry, i) => [entry, `${texts[i] ?? ""}${ENTRY_END}`]));
    this.#paths = membersOf(document, "paths", 2);
    this.#schemas = membersOf(document, "schemas", 4);
  }

  /** What the folder was rendered from. */
  get catalogue(): Catalogue {
    return catalogueOfRecord(this.#record);
  }

  entryOf(uniqueId: string, input: string): CatalogueEntry | undefined {
    return this.#inputs.get(uniqueId) === input ? this.#entries.get(uniqueId) : undefined;
  }

  /** The text of an entry that is one of the folder's. */
  entryText(entry: CatalogueEntry): string | undefined {
    return this.#texts.get(entry);
  }

  /** Whether the folder was rendered from the same entry: of this text. */
  hasEntry({ uniqueId }: CatalogueEntry, text: string): boolean {
    const former = this.#entries.get(uniqueId);
    return former !== undefined && this.#texts.get(former) === text;
  }

  bytesOf(file: string): Buffer | undefined {
    return this.#files.get(file);
  }

  /** The digest of a file. */
  digestOf(file: string, bytes: Buffer): string {
    return (this.#files.get(file) === bytes ? this.#digests.get(file) : undefined) ?? digestOf(bytes);
  }

  /** The operations of a path, as `openapi.json` has them. */
  operationsOf(path: string): Buffer | undefined {
    return this.#paths.get(path);
  }

  /** A schema of the components of `openapi.json`. */
  schemaOf(name: string): Buffer | undefined {
    return this.#schemas.get(name);
  }
}

export const CATALOGUE_FILE = "catalogue.json";

/** What wrote a folder. */
interface GeneratorCode {
  readonly generator: string;
  readonly code: string | undefined;
}

/** What a rendering may keep of a folder: the files that are as `catalogue.json` lists them, where this code of the generator wrote them. */
export function keptOf(
  bytesOf: (file: string) => Buffer | undefined,
  { generator, code }: GeneratorCode,
): Kept | undefined {
  const written = bytesOf(CATALOGUE_FILE);
  if (written === undefined || !isAsWritten(written)) return;
  const catalogue = written.toString();
  if (!catalogue.includes(`\n  "generator": ${visibleJson(generator)},\n`)) return;
  const record = JSON.parse(catalogue) as CatalogueRecord;
  if (record.code !== code) return;
  const files = Object.entries(record.files ?? {}).flatMap(([file, digest]) => {
    const bytes = bytesOf(file);
    return bytes === undefined || digestOf(bytes) !== digest ? [] : [[file, bytes] as const];
  });
  return new Kept(catalogue, record, new Map(files));
}

/** The bytes of an object's members in a rendered document, by their key; `indent`: spaces before the object's own key. */
function membersOf(document: Buffer, key: string, indent: number): ReadonlyMap<string, Buffer> {
  const margin = `\n${" ".repeat(indent)}`;
  const begin = `${margin}"${key}": {`;
  const members = new Map<string, Buffer>();
  const from = document.indexOf(begin);
  if (from === -1) return members;
  const end = document.indexOf(`${margin}}`, from);
  const separator = `,${margin}  "`;
  for (let at = from + begin.length + separator.length - 1; at < end;) {
    const next = document.indexOf(separator, at);
    const last = next === -1 ? end : Math.min(next, end);
    const colon = document.indexOf('": ', at);
    members.set(document.toString("utf8", at, colon), document.subarray(colon + '": '.length, last));
    at = last + separator.length;
  }
  return members;
}
