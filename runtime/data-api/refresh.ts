import type { Logger } from "../http/logger.js";
import { allows } from "../model/tier.js";
import { RelationMissing } from "../postgres/database-errors.js";
import type { Warehouse } from "../query/warehouse.js";
import type { CompiledModule, LoadedEndpoint } from "./generated-folder.js";
import {
  type ActiveRelease,
  type Documentation,
  type HeldBackEndpoint,
  type LoadedRelease,
  loadRelease,
  type ManifestVersion,
  type Release,
  type SkippedModel,
} from "./release.js";

/** A manifest rendered and compiled: what `generate` would write. */
export interface Rendering {
  /** Hash of the manifest's bytes. */
  readonly hash: string;
  readonly models: number;
  readonly openApi: string;
  readonly documentation: Documentation;
  readonly modules: readonly CompiledModule[];
  readonly skipped: readonly SkippedModel[];
  /** Endpoints that stay as they were, because the guard holds their changes back. */
  readonly heldBack?: readonly HeldBackEndpoint[];
}

export type Rendered =
  | { readonly kind: "rendered"; readonly rendering: Rendering }
  | { readonly kind: "unchanged" }
  | { readonly kind: "error"; readonly detail: string };

/**
 * Renders the current manifest, off the event loop. The runtime does not import the generator: the command that starts
 * the server passes a renderer in.
 */
export interface Renderer {
  /** `inService`: hash of the manifest in service, which is not rendered again. */
  render(inService: string | null): Promise<Rendered>;
  close(): Promise<void>;
}

/** What a refresh did that takes something from callers, or gives them more (runtime/README.md, Refresh). */
export interface RefreshWarning {
  readonly kind: "removed" | "opened" | "skipped" | "held_back" | "missing_relation";
  /** Path of an endpoint, name of a model, or `schema.name` of a relation. */
  readonly subject: string;
  readonly reason: string;
}

/** The body of `POST /v1/system/manifest/refresh` (runtime/README.md, Refresh). */
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

/** The release in service, in short. */
export interface ReleaseStatus {
  readonly manifest: ManifestVersion | null;
  /** How many endpoints. */
  readonly endpoints: number;
}

/** Where releases are served: in this process, or in several. */
export interface ReleaseTarget {
  readonly status: ReleaseStatus;
  /** Activates a release. Rejects, and keeps the old one, when it does not load. */
  activate(release: Release): Promise<RefreshResult>;
}

/** Activates the current manifest. */
export class Refresher {
  readonly #target: ReleaseTarget;
  readonly #renderer: Renderer;
  readonly #singleFlight = new SingleFlight(() => this.#run());

  constructor(target: ReleaseTarget, renderer: Renderer) {
    this.#target = target;
    this.#renderer = renderer;
  }

  /** Never rejects. */
  refresh(): Promise<RefreshResult> {
    return this.#singleFlight.run();
  }

  async #run(): Promise<RefreshResult> {
    const { status } = this.#target;
    try {
      const rendered = await this.#renderer.render(status.manifest?.hash ?? null);
      switch (rendered.kind) {
        case "rendered":
          if (rendered.rendering.modules.length === 0 && status.endpoints > 0)
            return failed(status, NO_ENDPOINT);
          return await this.#target.activate(releaseOf(rendered.rendering));
        case "unchanged":
          return success(status, NO_CHANGES);
        case "error":
          return failed(status, rendered.detail);
      }
    } catch (error) {
      return failed(status, error instanceof Error ? error.message : String(error));
    }
  }
}

const NO_ENDPOINT =
  "The manifest has no endpoint: it is accepted for a broken one. Restart the server to serve no endpoint.";

function releaseOf(rendering: Rendering): Release {
  const { hash, models, openApi, documentation, modules, skipped, heldBack = [] } = rendering;
  return {
    openApi,
    documentation,
    modules,
    manifest: { hash, models, skipped, heldBack, loadedAt: Date.now() },
  };
}

/** This process as a target. */
export function localTarget(
  active: ActiveRelease,
  activate: (release: Release) => Promise<RefreshResult>,
): ReleaseTarget {
  return {
    get status() {
      const { manifest, endpoints } = active.current;
      return { manifest, endpoints: endpoints.size };
    },
    activate,
  };
}

/**
 * Puts a release into service in this process. Relations of new and changed endpoints are looked up first, in a worker
 * after the swap: a connection that the primary hands over behind the release must be served from it. A missing relation
 * is a warning.
 *
 * @throws when a module does not load; the old release stays in service
 */
export async function activate(
  active: ActiveRelease,
  release: Release,
  warehouse: Pick<Warehouse, "columns">,
  lookUp: "before the swap" | "after the swap",
): Promise<RefreshResult> {
  const before = active.current;
  const after = loadRelease(release, before);
  const changes = changesOf(before, after);
  if (lookUp === "after the swap") active.swap(after);
  const found = await Promise.all(
    [...changes.added, ...changes.changed].map((path) =>
      missingRelation(after.endpoints.get(path), warehouse),
    ),
  );
  active.swap(after);
  const status = { manifest: after.manifest, endpoints: after.endpoints.size };
  const missing = [...new Set(found.filter((name) => name !== null))].map((subject): RefreshWarning => ({
    kind: "missing_relation",
    subject,
    reason: NOT_IN_DATABASE,
  }));
  return success(status, { ...changes, warnings: [...changes.warnings, ...missing] });
}

const NOT_IN_DATABASE = "The database has no such relation. Build the model, or check the role's privileges.";

/** A database that does not respond says nothing about its relations. */
async function missingRelation(
  endpoint: LoadedEndpoint | undefined,
  warehouse: Pick<Warehouse, "columns">,
): Promise<string | null> {
  if (!endpoint) return null;
  const { relation } = endpoint.spec;
  try {
    await warehouse.columns(relation, null);
    return null;
  } catch (error) {
    return error instanceof RelationMissing ? relation.join(".") : null;
  }
}

/** Paths, by what a release does to them. */
interface Changes {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly changed: readonly string[];
  readonly warnings: readonly RefreshWarning[];
}

const NO_CHANGES: Changes = { added: [], removed: [], changed: [], warnings: [] };

function changesOf(before: LoadedRelease, after: LoadedRelease): Changes {
  const kept = [...after.endpoints.values()].flatMap((head) => {
    const base = before.endpoints.get(head.spec.path);
    return base && base.digest !== head.digest ? [{ base, head }] : [];
  });
  const gone = [...before.endpoints.values()].filter(({ spec }) => !after.endpoints.has(spec.path));
  const opened = kept.filter(({ base, head }) => !allows(head.spec.tier, base.spec.tier));
  const skipped = after.manifest?.skipped ?? [];
  const known = new Set(before.manifest?.skipped.map(({ model, errors }) => `${model} ${errors.join(" ")}`));
  return {
    added: [...after.endpoints.keys()].filter((path) => !before.endpoints.has(path)),
    removed: gone.map(({ spec }) => spec.path),
    changed: kept.map(({ head }) => head.spec.path),
    warnings: [
      ...gone.map(({ spec }) => warning("removed", spec.path, removalReason(spec.model, skipped))),
      ...opened.map(({ base, head }) =>
        warning("opened", head.spec.path, `Its tier was ${base.spec.tier} and is ${head.spec.tier} now.`),
      ),
      ...skipped
        .filter(({ model, errors }) => !known.has(`${model} ${errors.join(" ")}`))
        .map(({ model, errors }) => warning("skipped", model, errors.join(" "))),
      ...(after.manifest?.heldBack ?? []).map(({ endpoint, changes }) =>
        warning("held_back", endpoint, changes.join(" ")),
      ),
    ],
  };
}

function warning(kind: RefreshWarning["kind"], subject: string, reason: string): RefreshWarning {
  return { kind, subject, reason };
}

function removalReason(model: string, skipped: readonly SkippedModel[]): string {
  const { errors } = skipped.find((each) => each.model.split(".").at(-1) === model) ?? {};
  return errors
    ? `Its model ${model} is skipped: ${errors.join(" ")}`
    : `The manifest does not publish ${model} there.`;
}

function success({ manifest, endpoints }: ReleaseStatus, changes: Changes): RefreshResult {
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
  return failed(status, "No manifest is configured: set DBT_MANIFEST_PATH or DBT_MANIFEST_URL.");
}

function failed({ manifest, endpoints }: ReleaseStatus, detail: string): RefreshResult {
  return { status: "error", models: manifest?.models ?? endpoints, endpoints, detail };
}

/** Logs refreshes; a problem that lasts is logged once. */
export class RefreshLog {
  readonly #log: Logger;
  #lastProblem = "";

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Returns the result unchanged. */
  record(result: RefreshResult): RefreshResult {
    if (result.status === "error") {
      if (result.detail !== this.#lastProblem)
        this.#log.warn({ detail: result.detail }, "manifest not refreshed");
      this.#lastProblem = result.detail;
      return result;
    }
    this.#lastProblem = "";
    for (const { kind, subject, reason } of result.warnings)
      this.#log.warn({ kind, subject, reason }, "refresh");
    if (result.status === "reloaded") {
      const { endpoints, added, removed, changed, skipped, manifest_hash } = result;
      const counts = {
        added: added.length,
        removed: removed.length,
        changed: changed.length,
        skipped: skipped.length,
      };
      this.#log.info({ endpoints, ...counts, manifest_hash }, "manifest refreshed");
    }
    return result;
  }
}

/**
 * Runs one task at a time. Calls during a run share the run after it, since they may concern something newer than the
 * current run has read.
 */
export class SingleFlight<T> {
  readonly #task: () => Promise<T>;
  #running: Promise<T> | null = null;
  #next: Promise<T> | null = null;

  /** `task` must never reject. */
  constructor(task: () => Promise<T>) {
    this.#task = task;
  }

  run(): Promise<T> {
    if (this.#running === null) return this.#start();
    this.#next ??= this.#running.then(() => this.#start());
    return this.#next;
  }

  #start(): Promise<T> {
    this.#next = null;
    this.#running = this.#task().finally(() => (this.#running = null));
    return this.#running;
  }
}
