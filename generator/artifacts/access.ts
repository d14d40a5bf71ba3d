import type { ArtifactKind, GenerationEnvironment } from "@routewright/runtime/model";
import type { ArtifactAccess } from "./store.js";

/** What opens dbt's files: the header of the settings goes to the origins of the addresses in them, and nowhere else. */
export function accessOf({
  artifactsHeader,
  dbtCloud,
  ...named
}: Pick<GenerationEnvironment, "artifacts" | ArtifactKind | "artifactsHeader" | "dbtCloud">): ArtifactAccess {
  const { artifacts, manifest, catalog, runResults, sources, freshness } = named;
  const origins = [artifacts, manifest, catalog, runResults, sources, freshness].flatMap((location) =>
    location !== null && /^https?:/i.test(location) && URL.canParse(location)
      ? [new URL(location).origin]
      : [],
  );
  return { header: artifactsHeader && { ...artifactsHeader, origins: [...new Set(origins)] }, dbtCloud };
}
