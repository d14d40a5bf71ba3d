import type { Release } from "./release.js";
import { readGenerated } from "./load.js";

export interface GeneratedReleaseOptions {
  /** The generated folder. */
  readonly generated: string;
  /** Where compiled routes are kept. */
  readonly dataDir: string;
  /** Renames the OpenAPI document; the generated file stays as it was reviewed. Null: as it is. */
  readonly apiTitle: string | null;
}

/** What a generated folder has to serve. */
export interface GeneratedRelease {
  readonly title: string;
  readonly edition: Release;
}

/** Reads a generated folder. Rejects with a clear line when there is none, or a broken one. */
export async function readGeneratedRelease(place: GeneratedReleaseOptions): Promise<GeneratedRelease> {
  const { modules, openApi } = await readGenerated(place.generated, `${place.dataDir}/cache`);
  const { title, text } = titled(openApi, place.apiTitle);
  return { title, edition: { modules, openApi: text, manifest: null } };
}

function titled(openApi: string, title: string | null): { title: string; text: string } {
  const document = JSON.parse(openApi) as { info: { title: string } };
  if (title === null) return { title: document.info.title, text: openApi };
  return { title, text: JSON.stringify({ ...document, info: { ...document.info, title } }) };
}
