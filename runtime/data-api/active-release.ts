import type { LoadedEndpoint } from "./load.js";
import { RouteTable } from "./route-table.js";

/** What is in service at a moment. */
export interface LoadedRelease {
  readonly routes: RouteTable;
  /** By path. */
  readonly endpoints: ReadonlyMap<string, LoadedEndpoint>;
  /** The OpenAPI document, as text. */
  readonly openApi: string;
  /** The manifest it was rendered from; null while the generated folder is served. */
  readonly manifest: ManifestVersion | null;
}

/** Tells replicas apart that serve different manifests. */
export interface ManifestVersion {
  /** Hash of the manifest's bytes. */
  readonly hash: string;
  /** When it came into service, in milliseconds since 1970. */
  readonly loadedAt: number;
  /** Models in the manifest. */
  readonly models: number;
  readonly skipped: readonly SkippedModel[];
}

/** A published model that has no endpoint, with the reasons. */
export interface SkippedModel {
  readonly model: string;
  readonly errors: readonly string[];
}

/** Holds what is in service; a request takes it once, so it is answered by one state from beginning to end. */
export class ActiveRelease {
  #current: LoadedRelease;

  constructor(first: LoadedRelease) {
    this.#current = first;
  }

  get current(): LoadedRelease {
    return this.#current;
  }

  /** Puts the next state into service in one step. */
  swap(next: LoadedRelease): void {
    this.#current = next;
  }
}

export function loadedRelease(
  endpoints: readonly LoadedEndpoint[],
  openApi: string,
  manifest: ManifestVersion | null,
): LoadedRelease {
  const byPath = new Map(endpoints.map((endpoint) => [endpoint.spec.path, endpoint]));
  return { routes: new RouteTable(endpoints), endpoints: byPath, openApi, manifest };
}
