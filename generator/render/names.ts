import type { CatalogueEntry } from "../catalogue/catalogue.js";

/** File of an endpoint's module within the generated folder: `routes/<category>/<resource>[.<granularity>[.<window>]].ts`. */
export function routeFile(entry: CatalogueEntry): string {
  const [category = "", ...rest] = segmentsOf(entry).map(fileSegment);
  return `routes/${category}/${rest.join(".")}.ts`;
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
