import type { CompiledModule, LoadedEndpoint } from "./generated-folder.js";
import {
  loadRelease,
  type Release,
  type LoadedRelease,
  type ActiveRelease,
  type ManifestVersion,
  type SkippedModel,
} from "./release.js";
import type { Logger } from "../http/logger.js";

/** A manifest rendered and compiled: what `generate` would write, ready to be evaluated. */
export interface Rendering {
  /** Hash of the manifest's bytes. */
  readonly hash: string;
  readonly models: number;
  readonly openApi: string;
  readonly modules: readonly CompiledModule[];
  readonly skipped: readonly SkippedModel[];
}

/** What came of looking at the manifest. */
export type Rendered =
  | { readonly kind: "rendered"; readonly rendering: Rendering }
  | { readonly kind: "unchanged" }
  | { readonly kind: "error"; readonly detail: string };

/**
 * Makes a rendering of the manifest as it is now. The runtime knows no generator: the server process wires one in,
 * which works off the event loop.
 */
export interface Renderer {
  /** `inService`: hash of the manifest in service, which needs no second rendering. */
  render(inService: string | null): Promise<Rendered>;
  close(): Promise<void>;
}

/** The answer of `POST /v1/system/manifest/refresh` (decisions.md §A, Responses). */
export type RefreshResult = { readonly models: number; readonly endpoints: number } & (
  | {
      readonly status: "reloaded" | "unchanged";
      readonly added: readonly string[];
      readonly removed: readonly string[];
      readonly changed: readonly string[];
      readonly skipped: readonly SkippedModel[];
      readonly manifest_hash: string;
      readonly loaded_at: string;
    }
  | { readonly status: "error"; readonly detail: string }
);

/** What is in service, as far as an answer tells of it. */
export interface ReleaseStatus {
  readonly manifest: ManifestVersion | null;
  /** How many endpoints. */
  readonly endpoints: number;
}

/** Where editions are served: in this process, or in several. */
export interface ReleaseTarget {
  readonly standing: ReleaseStatus;
  /** Puts an edition into service. Rejects, and leaves the old one there, when it does not load. */
  adopt(edition: Release): Promise<RefreshResult>;
}

/** Brings the manifest as it is now into service. */
export class Refresher {
  readonly #stage: ReleaseTarget;
  readonly #renderer: Renderer;
  readonly #flight = new SingleFlight(() => this.#run());

  constructor(stage: ReleaseTarget, renderer: Renderer) {
    this.#stage = stage;
    this.#renderer = renderer;
  }

  /** Never rejects. A refresh that arrives while one runs may be about a newer manifest than that one has read. */
  refresh(): Promise<RefreshResult> {
    return this.#flight.run();
  }

  async #run(): Promise<RefreshResult> {
    const { standing } = this.#stage;
    try {
      const rendered = await this.#renderer.render(standing.manifest?.hash ?? null);
      switch (rendered.kind) {
        case "rendered":
          return await this.#stage.adopt(editionOf(rendered.rendering));
        case "unchanged":
          return unchanged(standing);
        case "error":
          return failed(standing, rendered.detail);
      }
    } catch (error) {
      return failed(standing, error instanceof Error ? error.message : String(error));
    }
  }
}

function editionOf({ hash, models, openApi, modules, skipped }: Rendering): Release {
  return { openApi, modules, manifest: { hash, models, skipped, loadedAt: Date.now() } };
}

/** This process as a stage. */
export function localTarget(live: ActiveRelease): ReleaseTarget {
  return {
    get standing() {
      const { manifest, endpoints } = live.current;
      return { manifest, endpoints: endpoints.size };
    },
    adopt: (edition) => new Promise((resolve) => resolve(activate(live, edition))),
  };
}

/**
 * Swaps an edition into service. All is ready before anything is swapped.
 *
 * @throws when a module does not load; then the old edition stays in service
 */
export function activate(live: ActiveRelease, edition: Release): RefreshResult {
  const before = live.current;
  const after = loadRelease(edition, before);
  live.swap(after);
  return answerOf(before, after);
}

function answerOf(before: LoadedRelease, after: LoadedRelease): RefreshResult {
  const added = [...after.endpoints.keys()].filter((path) => !before.endpoints.has(path));
  const removed = [...before.endpoints.keys()].filter((path) => !after.endpoints.has(path));
  const changed = [...after.endpoints.values()]
    .filter((endpoint) => isChanged(endpoint, before))
    .map(({ spec }) => spec.path);
  const standing = { manifest: after.manifest, endpoints: after.endpoints.size };
  return success(standing, { added, removed, changed });
}

function isChanged({ spec, digest }: LoadedEndpoint, before: LoadedRelease): boolean {
  const old = before.endpoints.get(spec.path);
  return old !== undefined && old.digest !== digest;
}

function unchanged(standing: ReleaseStatus): RefreshResult {
  return success(standing, { added: [], removed: [], changed: [] });
}

/** Paths by what became of them. */
interface Changes {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly changed: readonly string[];
}

function success({ manifest, endpoints }: ReleaseStatus, changes: Changes): RefreshResult {
  const { hash = "", models = 0, skipped = [], loadedAt = 0 } = manifest ?? {};
  const isSame = Object.values(changes).flat().length === 0;
  return {
    status: isSame ? "unchanged" : "reloaded",
    models,
    endpoints,
    ...changes,
    skipped,
    manifest_hash: hash,
    loaded_at: new Date(loadedAt).toISOString(),
  };
}

/** The answer where no manifest is configured. */
export function noManifest(standing: ReleaseStatus): RefreshResult {
  return failed(standing, "No manifest is configured: set DBT_MANIFEST_PATH or DBT_MANIFEST_URL.");
}

function failed({ manifest, endpoints }: ReleaseStatus, detail: string): RefreshResult {
  return { status: "error", models: manifest?.models ?? endpoints, endpoints, detail };
}

/** Logs what comes of refreshes; a problem that lasts is told once, not every time. */
export class RefreshLog {
  readonly #log: Logger;
  #told = "";

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Returns the answer as it is. */
  tell(answer: RefreshResult): RefreshResult {
    const problem = answer.status === "error" ? answer.detail : "";
    if (problem !== "" && problem !== this.#told)
      this.#log.warn({ detail: problem }, "manifest not refreshed");
    this.#told = problem;
    if (answer.status === "reloaded") this.#log.info(countsOf(answer), "manifest refreshed");
    return answer;
  }
}

function countsOf(answer: Exclude<RefreshResult, { status: "error" }>) {
  const { endpoints, added, removed, changed, skipped, manifest_hash } = answer;
  const counts = {
    added: added.length,
    removed: removed.length,
    changed: changed.length,
    skipped: skipped.length,
  };
  return { endpoints, ...counts, manifest_hash };
}

/**
 * Runs one task at a time. A call that arrives while one runs may be about something newer than that run has seen: all
 * such share the run behind it.
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
