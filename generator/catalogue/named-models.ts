/** Models that `publish` of the config file names: what their authors have not said is not assumed. */
import type { Manifest } from "../manifest/manifest.js";
import type { Model } from "../manifest/model.js";
import { type CatalogueEntry, complaint, type Skipped } from "./catalogue.js";
import { readTags } from "./tags.js";

/** Whether a generated folder has the model at this path. */
export function isWritten(model: Model, written: ReadonlyMap<string, string> | undefined): boolean {
  return written === undefined || written.get(model.uniqueId) === readTags(model).path;
}

/** The models that `publish` names and that only their authors may publish. */
export function refusedModels({ models, publishing: { refused } }: Manifest): readonly Skipped[] {
  return models.flatMap(({ uniqueId, file }) => {
    const reason = refused.get(uniqueId);
    return reason === undefined ? [] : [refusal({ uniqueId, file }, reason)];
  });
}

/** Without endpoints that `publish` alone makes of private data, which a node above them may mark. */
export function withoutNamedPrivacy(
  all: readonly CatalogueEntry[],
  { publishing: { rules } }: Manifest,
): { readonly entries: readonly CatalogueEntry[]; readonly skipped: readonly Skipped[] } {
  const reasons = new Map(
    all.flatMap((entry) => {
      const columns = entry.columns.filter((column) => column.private).map(({ name }) => name);
      if (!rules.has(entry.uniqueId) || (!entry.private && columns.length === 0)) return [];
      const what = columns.length === 0 ? "its relation is" : `${columns.slice(0, 5).join(", ")} of it is`;
      return [[entry, `${what} private data by a mark above it`] as const];
    }),
  );
  return {
    entries: all.filter((entry) => !reasons.has(entry)),
    skipped: [...reasons].map(([entry, reason]) => refusal(entry, reason)),
  };
}

function refusal({ uniqueId, file }: Pick<Model, "uniqueId" | "file">, reason: string): Skipped {
  const problems = complaint(
    "$.tags",
    `\`publish\` names the model, and never publishes it: ${reason}.`,
    "Tag the model itself with `production` and `api:<resource>` to publish it, or leave it out with `exclude`.",
  );
  return {
    model: uniqueId,
    file,
    reason: "invalid",
    problems: problems.map((problem) => ({ model: uniqueId, ...problem })),
  };
}
