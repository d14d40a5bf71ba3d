import { digestOf } from "@routewright/runtime/model";
import { ENTRY_END, entryTextsIn, isAsWritten } from "../catalogue/catalogue-file.js";
import { visibleJson } from "../manifest/strings.js";

/** What a folder holds that would be rendered again as it is. */
export class Kept {
  readonly #files: ReadonlyMap<string, string>;
  readonly #digests: ReadonlyMap<string, string>;
  readonly #entries: ReadonlySet<string>;
  readonly #paths: ReadonlyMap<string, string>;
  readonly #schemas: ReadonlyMap<string, string>;

  constructor(catalogue: string, files: ReadonlyMap<string, string>, digests: ReadonlyMap<string, string>) {
    const document = files.get("openapi.json") ?? "";
    this.#files = files;
    this.#digests = digests;
    this.#entries = new Set(entryTextsIn(catalogue));
    this.#paths = membersOf(document, "paths", 2);
    this.#schemas = membersOf(document, "schemas", 4);
  }

  /** Whether the folder was rendered from an entry of this text. */
  hasEntry(text: string): boolean {
    return this.#entries.has(text.slice(0, -ENTRY_END.length));
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
  const digests = digestsIn(catalogue);
  const files = [...digests].flatMap(([file, digest]) => {
    const text = textOf(file);
    return text === undefined || digestOf(text) !== digest ? [] : [[file, text] as const];
  });
  return new Kept(catalogue, new Map(files), digests);
}

/** The digests that a catalogue lists, which are its last member. */
function digestsIn(catalogue: string): ReadonlyMap<string, string> {
  const list = catalogue.slice(catalogue.lastIndexOf('\n  "files": '));
  const { files } = JSON.parse(`{${list}`) as { readonly files: Readonly<Record<string, string>> };
  return new Map(Object.entries(files));
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
