import type { CompiledModule } from "./compile.js";
import { loadedRelease, type LoadedRelease, type ManifestVersion } from "./active-release.js";
import { evaluateModule, type LoadedEndpoint } from "./load.js";

/** The API as it is written down: all that a process needs to serve it, and fit to be sent to another one. */
export interface Release {
  /** The OpenAPI document, as text. */
  readonly openApi: string;
  readonly modules: readonly CompiledModule[];
  /** The manifest it was rendered from; null for a generated folder. */
  readonly manifest: ManifestVersion | null;
}

/**
 * Makes an edition ready to serve. Modules that are in service already are taken over as they are.
 *
 * @throws when a module does not load
 */
export function loadRelease(
  { openApi, modules, manifest }: Release,
  before: LoadedRelease | null,
): LoadedRelease {
  const known = new Map<string, LoadedEndpoint>();
  for (const endpoint of before?.endpoints.values() ?? []) known.set(endpoint.digest, endpoint);
  const endpoints = modules.map((module) => known.get(module.digest) ?? evaluateModule(module));
  return loadedRelease(endpoints, openApi, manifest);
}
