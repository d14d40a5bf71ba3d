import { relationsOf } from "../../core/model/missing-columns.js";
import type { Relation } from "../../core/model/endpoint.js";
import { allows } from "../../core/model/tier.js";
import { RelationMissing } from "../../core/warehouse/query-errors.js";
import type { Warehouse } from "../../core/warehouse/warehouse.js";
import { loadRelease, type Release } from "./release.js";
import type {
  ActiveRelease,
  HeldBackEndpoint,
  LoadedRelease,
  ManifestVersion,
  SkippedModel,
} from "../../core/handler/loaded-release.js";

/** An effect of a refresh that operators should check (runtime/docs/refresh.md). */
interface RefreshWarning {
  readonly kind: "removed" | "opened" | "skipped" | "held_back" | "missing_relation";
  /** Path of an endpoint, name of a model, or `schema.name` of a relation. */
  readonly subject: string;
  readonly reason: string;
}

/** The body of `POST /v1/system/manifest/refresh` (runtime/docs/refresh.md). */
export type RefreshResult = { readonly models: number; readonly endpoints: number } & (
  | {
      readonly status: "reloaded" | "unchanged";
      readonly added: readonly string[];
      readonly removed: readonly string[];
      readonly changed: readonly string[];
      readonly skipped: readonly SkippedModel[];
      readonly held_back: readonly HeldBackEndpoint[];
      readonly warnings: readonly RefreshWarning[];
      readonly manifest_hash: string;
      readonly loaded_at: string;
    }
  | { readonly status: "error"; readonly detail: string }
);

/** Status of the active release. */
export interface ReleaseStatus {
  readonly manifest: ManifestVersion | null;
  /** Number of endpoints. */
  readonly endpoints: number;
}

/**
 * Activates a release in this process, before anything is awaited: the one that is activated last stays. Looks up the relations of new and
 * changed endpoints; a missing one is a warning.
 *
 * @throws when a module does not load; the old release stays active
 */
export async function activate(
  active: ActiveRelease,
  release: Release,
  warehouse: Pick<Warehouse, "columns">,
): Promise<RefreshResult> {
  const before = active.current;
  const after = loadRelease(release, before);
  const changes = changesOf(before, after);
  active.current = after;
  const found = await Promise.all(
    [...changes.added, ...changes.changed]
      .flatMap((path) => after.endpoints.get(path) ?? [])
      .flatMap(({ spec }) => relationsOf(spec))
      .map((relation) => missingRelation(relation, warehouse)),
  );
  const status = { manifest: after.manifest, endpoints: after.endpoints.size };
  const missing = [...new Map(found.filter((entry) => entry !== null))].map(
    ([subject, reason]): RefreshWarning => ({ kind: "missing_relation", subject, reason }),
  );
  return success(status, { ...changes, warnings: [...changes.warnings, ...missing] });
}

const NOT_IN_DATABASE = "The database has no such relation. Build the model, or check the role's privileges.";

/** A database that does not respond says nothing about its relations. */
async function missingRelation(
  relation: Relation,
  warehouse: Pick<Warehouse, "columns">,
): Promise<readonly [name: string, reason: string] | null> {
  try {
    await warehouse.columns(relation, null);
    return null;
  } catch (error) {
    return error instanceof RelationMissing ? [relation.join("."), error.reason ?? NOT_IN_DATABASE] : null;
  }
}

/** The effect of a release on paths. */
interface Changes {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly changed: readonly string[];
  readonly warnings: readonly RefreshWarning[];
}

export const NO_CHANGES: Changes = { added: [], removed: [], changed: [], warnings: [] };

function changesOf(before: LoadedRelease, after: LoadedRelease): Changes {
  const changed = [...after.endpoints.values()].flatMap((head) => {
    const base = before.endpoints.get(head.spec.path);
    return base && base.digest !== head.digest ? [{ base, head }] : [];
  });
  const removed = [...before.endpoints.values()].filter(({ spec }) => !after.served.has(spec.path));
  const opened = changed.filter(({ base, head }) => !allows(head.spec.tier, base.spec.tier));
  const undeclared = changed.filter(
    ({ base, head }) => base.spec.columns.length > 0 && head.spec.columns.length === 0,
  );
  const skipped = after.manifest?.skipped ?? [];
  const known = new Set(before.manifest?.skipped.map(({ model, errors }) => `${model} ${errors.join(" ")}`));
  return {
    added: [...after.endpoints.keys()].filter((path) => !before.endpoints.has(path)),
    removed: removed.map(({ spec }) => spec.path),
    changed: changed.map(({ head }) => head.spec.path),
    warnings: [
      ...removed.map(({ spec }) => warning("removed", spec.path, removalReason(spec.model, skipped))),
      ...opened.map(({ base, head }) =>
        warning("opened", head.spec.path, `Its tier was ${base.spec.tier} and is ${head.spec.tier} now.`),
      ),
      ...undeclared.map(({ head }) => warning("opened", head.spec.path, UNDECLARED)),
      ...skipped
        .filter(({ model, errors }) => !known.has(`${model} ${errors.join(" ")}`))
        .map(({ model, errors }) => warning("skipped", model, errors.join(" "))),
      ...(after.manifest?.heldBack ?? []).map(({ endpoint, changes }) =>
        warning("held_back", endpoint, changes.join(" ")),
      ),
    ],
  };
}

const UNDECLARED = "Its model declares no columns now: every column of the relation is served.";

function warning(kind: RefreshWarning["kind"], subject: string, reason: string): RefreshWarning {
  return { kind, subject, reason };
}

function removalReason(model: string, skipped: readonly SkippedModel[]): string {
  const { errors } = skipped.find((each) => each.model.split(".").at(-1) === model) ?? {};
  return errors
    ? `Its model ${model} is skipped: ${errors.join(" ")}`
    : `The manifest does not publish ${model} there.`;
}

export function success({ manifest, endpoints }: ReleaseStatus, changes: Changes): RefreshResult {
  const { hash = "", models = 0, skipped = [], heldBack = [], loadedAt = 0 } = manifest ?? {};
  const { added, removed, changed, warnings } = changes;
  return {
    status: added.length + removed.length + changed.length === 0 ? "unchanged" : "reloaded",
    models,
    endpoints,
    added,
    removed,
    changed,
    skipped,
    held_back: heldBack,
    warnings,
    manifest_hash: hash,
    loaded_at: new Date(loadedAt).toISOString(),
  };
}

/** The result where no manifest is configured. */
export function noManifest(status: ReleaseStatus): RefreshResult {
  return failed(
    status,
    "No manifest is configured: set DBT_MANIFEST_PATH, DBT_MANIFEST_URL or DBT_ARTIFACTS_URL.",
  );
}

export function failed({ manifest, endpoints }: ReleaseStatus, detail: string): RefreshResult {
  return { status: "error", models: manifest?.models ?? endpoints, endpoints, detail };
}
