import type { CatalogueEntry } from "../catalogue/catalogue.js";

/** File of an endpoint's module within the generated folder: `routes/<category>/<resource>[.<granularity>[.<window>]].ts`. */
export function routeFile(entry: CatalogueEntry): string {
  const [category = "", ...rest] = segmentsOf(entry).map(fileSegment);
  const [resource = "", ...others] = rest;
  const last = others.at(-1);
  // `x.d.ts` would be a declaration file.
  const parts = last === "d" ? [...others.slice(0, -1), "d~"] : others;
  return `routes/${safeName(category)}/${[safeName(resource), ...parts].join(".")}.ts`;
}

/**
 * Names that a checkout on Windows refuses, whatever ending they have, and folders that ignore rules and tools skip. A
 * `~` at the end marks them: `fileSegment` writes one only in front of a character.
 */
const UNSAFE =
  /^(?:con|prn|aux|nul|com\d|lpt\d|node_modules|dist|build|out|target|coverage|vendor|bin|obj|tmp|temp|logs?|cache|.*\.)$/;

function safeName(name: string): string {
  return UNSAFE.test(name) ? `${name}~` : name;
}

/** The segments behind `/v1/`. */
function segmentsOf({ endpoint }: CatalogueEntry): string[] {
  return endpoint.path.split("/").slice(2);
}

/**
 * A segment as part of a file name. A dot would be taken for the one between segments, and capitals meet small letters
 * on some file systems: both are marked, so that two paths never share a file.
 */
function fileSegment(segment: string): string {
  return segment.replace(/[.A-Z]/g, (character) => `~${character.toLowerCase()}`);
}

/**
 * Identifier of an endpoint's module in the index, unique whatever other endpoints there are: `/` becomes `$`, and as
 * no segment is empty, a `$$` can mark the characters that no identifier has.
 */
export function moduleName({ endpoint }: CatalogueEntry): string {
  return endpoint.path
    .slice(1)
    .replace(/[/.-]/g, (character) => (character === "/" ? "$" : character === "." ? "$$p" : "$$d"));
}
