import { join } from "node:path";
import type { Endpoint } from "@routewright/runtime/model";
import { updateFolder } from "../../generator/output/folder.js";
import type { FileSet } from "../../generator/render/render.js";
import { evaluateModule } from "../../runtime/server/release/generated-folder.js";
import { readGeneratedRelease } from "../../runtime/server/release/release.js";

/** The endpoints of a rendered folder once it is written to disk and loaded, as the server does, by path. */
export async function loadedEndpoints(
  folder: string,
  files: FileSet,
): Promise<ReadonlyMap<string, Endpoint>> {
  const generated = join(folder, "generated");
  updateFolder(files, { out: generated });
  const { modules } = (await readGeneratedRelease({ generated })).release;
  return new Map(modules.map(evaluateModule).map(({ spec }) => [spec.path, inObjectOrder(spec)]));
}

/** What the catalogue says of an endpoint, its columns and its parameters, and no module. */
const DESCRIPTION: ReadonlySet<string> = new Set([
  ...["uniqueId", "file", "category", "resource", "granularity", "window", "hasTierTag", "synonyms"],
  ...["owner", "stability", "description", "notNull", "acceptedValues", "private"],
  ...["minimum", "maximum", "exclusive", "unique", "references"],
]);

/**
 * An endpoint without descriptions, its columns and parameters in the order in which JavaScript lists an object's keys: a module carries
 * them in objects, which move names like `2024` to the front.
 */
export function inObjectOrder(endpoint: Endpoint): Endpoint {
  const { columns, parameters } = endpoint;
  return bare({ ...endpoint, columns: byKey(columns), parameters: byKey(parameters) });
}

function byKey<Item extends { readonly name: string }>(items: readonly Item[]): readonly Item[] {
  const keys = Object.keys(Object.fromEntries(items.map(({ name }) => [name, 0])));
  return items.map(bare).toSorted((a, b) => keys.indexOf(a.name) - keys.indexOf(b.name));
}

function bare<Item extends object>(item: Item): Item {
  return Object.fromEntries(Object.entries(item).filter(([key]) => !DESCRIPTION.has(key))) as Item;
}
