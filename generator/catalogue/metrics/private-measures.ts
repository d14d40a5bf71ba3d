import { leavesOf } from "@routewright/runtime/model";
import type { Manifest } from "../../manifest/manifest.js";
import type { Model } from "../../manifest/model.js";
import { formatValue } from "../../manifest/strings.js";
import { type CatalogueEntry, complaint, type Problem } from "../catalogue.js";
import { inheritedPrivacyOf } from "../inherited-privacy.js";

/** Measures of a model that show a private column, its own or an inherited one. Counts say nothing of a value. */
export function privateMeasures(
  model: Model,
  { aggregate }: CatalogueEntry,
  manifest: Manifest,
): readonly Problem[] {
  const shown = (aggregate?.measures ?? []).flatMap(({ name, metric }) =>
    leavesOf(metric).flatMap(({ aggregation, value }) =>
      value === undefined || aggregation.startsWith("count") ? [] : [{ name, aggregation, value }],
    ),
  );
  if (shown.length === 0) return [];
  const names = inheritedPrivacyOf(
    model,
    manifest,
    shown.map(({ value }) => value),
  );
  return shown
    .filter(({ value }) => names.has(value.toLowerCase()))
    .flatMap(({ name, aggregation, value }) =>
      complaint(
        `$.config.meta.routewright.aggregate.measures.${name}`,
        `${formatValue(aggregation)} shows values of the private column ${formatValue(value)}.`,
        "Count it, or take the measure away.",
      ),
    )
    .map((each) => ({ model: model.uniqueId, ...each }));
}
