import type { CompiledModule } from "./compile.js";
import { inService, type InService, type Live, type SkippedModel } from "./live.js";
import { evaluateModule, type LoadedEndpoint } from "./load.js";

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
export type RefreshAnswer = { readonly models: number; readonly endpoints: number } & (
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

/** Brings the manifest as it is now into service. */
export class Refresher {
  readonly #live: Live;
  readonly #renderer: Renderer;
  #running: Promise<RefreshAnswer> | null = null;
  #next: Promise<RefreshAnswer> | null = null;

  constructor(live: Live, renderer: Renderer) {
    this.#live = live;
    this.#renderer = renderer;
  }

  /**
   * Never rejects. A refresh that arrives while one runs may be about a newer manifest than that one has read: all such
   * share the run behind it.
   */
  refresh(): Promise<RefreshAnswer> {
    if (this.#running === null) return this.#start();
    this.#next ??= this.#running.then(() => this.#start());
    return this.#next;
  }

  #start(): Promise<RefreshAnswer> {
    this.#next = null;
    this.#running = this.#run().finally(() => (this.#running = null));
    return this.#running;
  }

  async #run(): Promise<RefreshAnswer> {
    const before = this.#live.current;
    try {
      const rendered = await this.#renderer.render(before.manifest?.hash ?? null);
      switch (rendered.kind) {
        case "rendered":
          return this.#bringIn(rendered.rendering, before);
        case "unchanged":
          return answerOf(before, before);
        case "error":
          return failed(before, rendered.detail);
      }
    } catch (error) {
      return failed(before, error instanceof Error ? error.message : String(error));
    }
  }

  /** All is ready before anything is swapped; a module that does not load leaves the old state in service. */
  #bringIn({ hash, models, openApi, modules, skipped }: Rendering, before: InService): RefreshAnswer {
    const known = new Map([...before.endpoints.values()].map((endpoint) => [endpoint.digest, endpoint]));
    const endpoints = modules.map((module) => known.get(module.digest) ?? evaluateModule(module));
    const after = inService(endpoints, openApi, { hash, models, skipped, loadedAt: Date.now() });
    this.#live.swap(after);
    return answerOf(before, after);
  }
}

function answerOf(before: InService, after: InService): RefreshAnswer {
  const added = [...after.endpoints.keys()].filter((path) => !before.endpoints.has(path));
  const removed = [...before.endpoints.keys()].filter((path) => !after.endpoints.has(path));
  const changed = [...after.endpoints.values()]
    .filter((endpoint) => isChanged(endpoint, before))
    .map(({ spec }) => spec.path);
  const isSame = added.length + removed.length + changed.length === 0;
  const { hash = "", models = 0, skipped = [], loadedAt = 0 } = after.manifest ?? {};
  return {
    status: isSame ? "unchanged" : "reloaded",
    models,
    endpoints: after.endpoints.size,
    ...{ added, removed, changed, skipped },
    manifest_hash: hash,
    loaded_at: new Date(loadedAt).toISOString(),
  };
}

function isChanged({ spec, digest }: LoadedEndpoint, before: InService): boolean {
  const old = before.endpoints.get(spec.path);
  return old !== undefined && old.digest !== digest;
}

/** The answer where no manifest is configured. */
export function noManifest(service: InService): RefreshAnswer {
  return failed(service, "No manifest is configured: set DBT_MANIFEST_PATH or DBT_MANIFEST_URL.");
}

function failed({ manifest, endpoints }: InService, detail: string): RefreshAnswer {
  return { status: "error", models: manifest?.models ?? endpoints.size, endpoints: endpoints.size, detail };
}
