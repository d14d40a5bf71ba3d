import { atFormerPath, type Endpoint, type FormerPath } from "@routewright/runtime/model";
import type { CatalogueEntry } from "../catalogue/catalogue.js";

/** An entry at one of the paths that it answers at. */
export interface ServedEntry extends CatalogueEntry {
  /** The path is a former one. */
  readonly isFormer?: true;
}

/** The entries, each at its own path and at its former ones: callers of those notice changes too. */
export function atAllPaths(entries: readonly CatalogueEntry[]): readonly ServedEntry[] {
  return entries.flatMap((entry): ServedEntry[] => {
    const { formerPaths = [] } = entry.endpoint;
    const former = formerPaths.map((path) => atFormerPath(entry.endpoint, path));
    return [entry, ...former.map((endpoint) => ({ ...entry, endpoint, isFormer: true as const }))];
  });
}

/** The line of a model's `meta.routewright` that keeps a path alive, until there has been enough notice. */
export function formerPathsLine(
  path: string,
  { formerPaths = [] }: Endpoint,
  { today, minimumNoticeDays }: { readonly today: string; readonly minimumNoticeDays: number },
): string {
  const sunset = new Date(Date.parse(today) + minimumNoticeDays * DAY_MS).toISOString();
  const items = [...formerPaths, { path, sunset }].map(itemText);
  return `To keep the old path alive, add to the model's \`meta.routewright\`: former_paths: [${items.join(", ")}]`;
}

function itemText({ path, sunset }: FormerPath): string {
  return sunset === null ? `{path: ${path}}` : `{path: ${path}, sunset: "${sunset.slice(0, 10)}"}`;
}

const DAY_MS = 86_400_000;
