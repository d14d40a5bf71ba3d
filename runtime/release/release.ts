import {
  type CompiledModule,
  evaluateModule,
  type LoadedEndpoint,
  readGenerated,
} from "./generated-folder.js";

/** Everything that a server needs to serve an API, serializable for worker processes. */
export interface Release {
  /** The OpenAPI document, as UTF-8. */
  readonly openApi: Uint8Array;
  readonly documentation: Documentation;
  readonly modules: readonly CompiledModule[];
  /** Its manifest; null for a generated folder. */
  readonly manifest: ManifestVersion | null;
}

/** Files that describe the endpoints, as text; empty where a folder has no such file. */
export interface Documentation {
  /** `catalogue.json`. */
  readonly catalogue: string;
  /** `lineage.json`. */
  readonly lineage: string;
}

/** Identifies a manifest. */
export interface ManifestVersion {
  /** Hash of the manifest's bytes. */
  readonly hash: string;
  /** When it was loaded, in milliseconds since 1970. */
  readonly loadedAt: number;
  /** Models in the manifest. */
  readonly models: number;
  readonly skipped: readonly SkippedModel[];
  readonly heldBack: readonly HeldBackEndpoint[];
}

/** An endpoint whose changes the guard holds back (runtime/README.md, Refresh). */
export interface HeldBackEndpoint {
  readonly endpoint: string;
  readonly changes: readonly string[];
}

/** A tagged model without an endpoint, with the reasons. */
export interface SkippedModel {
  readonly model: string;
  readonly errors: readonly string[];
}

/** A release in memory. */
export interface LoadedRelease {
  /** By path. */
  readonly endpoints: ReadonlyMap<string, LoadedEndpoint>;
  /** The OpenAPI document, as UTF-8. */
  readonly openApi: Uint8Array;
  readonly documentation: Documentation;
  readonly manifest: ManifestVersion | null;
}

/** Holds the active release. A request reads it once, so that a single release handles it. */
export interface ActiveRelease {
  current: LoadedRelease;
}

/**
 * Loads a release. Modules that the previous release has too are not evaluated again.
 *
 * @throws when a module does not load
 */
export function loadRelease(
  { openApi, documentation, modules, manifest }: Release,
  previous: LoadedRelease | null,
): LoadedRelease {
  const loaded = new Map(
    [...(previous?.endpoints.values() ?? [])].map((endpoint) => [endpoint.digest, endpoint]),
  );
  const endpoints = modules.map((module) => loaded.get(module.digest) ?? evaluateModule(module));
  const byPath = new Map(endpoints.map((endpoint) => [endpoint.spec.path, endpoint]));
  return { endpoints: byPath, openApi, documentation, manifest };
}

interface GeneratedReleaseOptions {
  /** The generated folder. */
  readonly generated: string;
  /** Where compiled modules are cached. */
  readonly dataDir: string;
  /** Title of the served OpenAPI document; null: the generated one. */
  readonly apiTitle: string | null;
}

/** Reads the release of a generated folder. Rejects with a clear message when the folder is missing or invalid. */
export async function readGeneratedRelease({
  generated,
  dataDir,
  apiTitle,
}: GeneratedReleaseOptions): Promise<{ readonly title: string; readonly release: Release }> {
  const { modules, openApi, documentation } = await readGenerated(generated, `${dataDir}/cache`);
  const { bytes, document } = openApi;
  const release = { modules, openApi: bytes, documentation, manifest: null };
  if (apiTitle === null) return { title: document.info.title, release };
  const text = JSON.stringify({ ...document, info: { ...document.info, title: apiTitle } });
  return { title: apiTitle, release: { ...release, openApi: Buffer.from(text) } };
}
