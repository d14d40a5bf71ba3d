import { type Tier, TIERS } from "@routewright/runtime/model";
import { objectOr } from "../manifest/json.js";
import type { Manifest } from "../manifest/manifest.js";
import type { Model } from "../manifest/model.js";
import { columnEntries, marksOf, requiredTier } from "../manifest/node-meta.js";
import { formatValue } from "../manifest/strings.js";
import { type CatalogueEntry, complaint, type Warning } from "./catalogue.js";
import { ancestorsOf, inheritedPrivacyOf } from "./inherited-privacy.js";

/**
 * The endpoint without filters by a private column that no row of it shows, below the tier that the mark asks for: a caller who
 * counts rows above and below a bound finds a value in 20 requests.
 */
export function withoutPrivateFilters(
  entry: CatalogueEntry,
  model: Model,
  manifest: Manifest,
): { readonly entry: CatalogueEntry; readonly warnings: readonly Warning[] } {
  const { filters = [], tier } = entry;
  const hidden = filters.map(({ column }) => column).filter((column) => !isShown(column, entry));
  if (hidden.length === 0) return { entry, warnings: [] };
  const privateNames = inheritedPrivacyOf(model, manifest, hidden);
  const withheld = new Map(
    hidden
      .filter((column) => privateNames.has(column.toLowerCase()))
      .map((column) => [column, tierOf(column, model, manifest)] as const)
      .filter(([, asked]) => TIERS.indexOf(asked) > TIERS.indexOf(tier)),
  );
  if (withheld.size === 0) return { entry, warnings: [] };
  const offered = filters.filter(({ column }) => !withheld.has(column));
  return {
    entry: { ...entry, filters: offered },
    warnings: [...withheld].flatMap(([column, asked]) => warningsOf(column, asked, model)),
  };
}

function warningsOf(column: string, tier: Tier, { uniqueId }: Model): readonly Warning[] {
  const message = `The filter by ${formatValue(column)} is not offered: the column is marked private for ${tier}, and no row shows it.`;
  const hint = `Take it out of the list, tag the model ${tier}, or mark the column with the tier that may compare it.`;
  return complaint("$.config.meta.routewright.filters", message, hint).map((each) => ({
    model: uniqueId,
    ...each,
    isWithheldFilter: true as const,
  }));
}

/** Whether rows have the column: those without declared columns have all. */
function isShown(column: string, { aggregate, columns }: CatalogueEntry): boolean {
  if (aggregate?.rows === false) return false;
  return columns.length === 0 || columns.some(({ name }) => name === column);
}

/** The strictest tier that marks of the column ask for, here and above; the highest where only its relation is marked. */
function tierOf(column: string, model: Model, manifest: Manifest): Tier {
  const nodes = [model.uniqueId, ...ancestorsOf(model.uniqueId, column, manifest)];
  const marks = nodes.flatMap((id) => {
    const json = objectOr(manifest.graph.get(id)?.json);
    const own = columnEntries(json).filter(
      ([key, { name = key }]) => String(name).toLowerCase() === column.toLowerCase(),
    );
    return [json, ...own.map(([, each]) => each)].flatMap((each) => marksOf(each));
  });
  const tiers = marks.map(requiredTier);
  return TIERS.findLast((tier) => tiers.includes(tier)) ?? "tier3";
}
