/** The rendering thread: on the main thread a manifest of 317 endpoints blocks all requests for 0.3 to 0.9 s of processor time. */
import { constants, setPriority } from "node:os";
import { parentPort, workerData } from "node:worker_threads";
import {
  type ActiveManifest,
  compileModules,
  readGeneratedFiles,
  type RenderResult,
} from "@routewright/runtime/compile";
import { type ApiAbout, messageOf } from "@routewright/runtime/model";
import { catalogueOf, type SchemaMap } from "../catalogue/build.js";
import type { MaxAge } from "../catalogue/settings/max-age.js";
import { readCatalogueIn } from "../catalogue/catalogue-file.js";
import { problemText } from "../catalogue/catalogue.js";
import { Guard, type GuardOptions } from "../diff/guard.js";
import { parseModels } from "../manifest/catalog.js";
import type { PublishRules } from "../manifest/publish-rules.js";
import type { ServedEngine } from "../catalogue/types/type-in-copy.js";
import { render } from "../render/render.js";
import { type ArtifactLocations, PolledArtifacts } from "../artifacts/artifacts.js";

export interface RenderJobOptions extends ArtifactLocations {
  /** The schemas that serve in place of the manifest's. */
  readonly schemas?: SchemaMap;
  readonly engine?: ServedEngine | undefined;
  readonly publicMaxAge?: MaxAge;
  /** Models that count as tagged; a refresh serves those that the generated folder has. */
  readonly publish?: PublishRules;
  /** Title of the OpenAPI document; null for its own. */
  readonly title: string | null;
  readonly about?: ApiAbout | undefined;
  /** The generated folder: its default tier, its plans and its paths are those of each refresh. */
  readonly generated: string;
  /** Whether its modules may differ from what was generated. */
  readonly allowEdited: boolean;
  /** Null: every change is accepted. */
  readonly guard: GuardOptions | null;
}

/** What the log gets beside the result of a refresh. */
export interface RenderWarning {
  readonly kind: "warning";
  readonly detail: string;
}

const options = workerData as RenderJobOptions;
const artifacts = new PolledArtifacts(options);
const guard = options.guard && new Guard(options.guard);

/**
 * Renders the manifest. `active`: the one that the server uses.
 *
 * @throws when the generated folder is invalid: what its endpoints without a tier tag need is unknown then
 */
async function refresh(active: ActiveManifest | null): Promise<RenderResult> {
  const { title, about, generated, allowEdited, schemas, engine, publicMaxAge = 0, publish = [] } = options;
  const { folder, defaultTier, plans } = await readGeneratedFiles(generated, allowEdited);
  const polled = await artifacts.poll(active?.folder === folder ? active.hash : null);
  if (polled.kind !== "text") return polled;
  const { hash } = polled;
  for (const warning of polled.warnings)
    parentPort?.postMessage({ kind: "warning", detail: warning } satisfies RenderWarning);
  const reading = parseModels(polled, publish);
  if (!reading.ok) return { kind: "error", detail: reading.problems.join(" ") };
  const published = catalogueOf(reading.value, {
    defaultTier,
    engine,
    publicMaxAge,
    plans,
    ...(schemas && { schemas }),
    ...(publish.length > 0 && { written: writtenPaths(generated) }),
  });
  const { catalogue, heldBack } =
    guard && published.entries.length > 0
      ? await guard.check(published, hash, active?.hash ?? null)
      : { catalogue: published, heldBack: [] };
  const files = render(catalogue, { title, about });
  const routes = new Map([...files].filter(([file]) => file.startsWith("routes/")));
  const modules = await compileModules(routes);
  const openApi = new TextEncoder().encode(files.get("openapi.json") ?? "");
  const documentation = {
    catalogue: files.get("catalogue.json") ?? "",
    lineage: files.get("lineage.json") ?? "",
  };
  const skipped = catalogue.skipped
    .filter(({ reason }) => reason !== "excluded")
    .map(({ model, problems }) => ({ model, errors: problems.map(problemText) }));
  return {
    kind: "rendered",
    release: {
      openApi,
      documentation,
      modules,
      skippedModels: skipped.length,
      adapter: catalogue.adapter,
      copiedFrom: catalogue.copiedFrom ?? null,
      plans: catalogue.plans ?? {},
      manifest: {
        hash,
        loadedAt: Date.now(),
        models: reading.value.models.length,
        skipped,
        heldBack,
        defaultTier,
        folder,
      },
    },
  };
}

/** What `generate` has written: the paths of the folder, by model. */
function writtenPaths(generated: string): ReadonlyMap<string, string> {
  const reading = readCatalogueIn(generated);
  if (reading === null || !reading.ok) return new Map();
  return new Map(reading.value.entries.map(({ uniqueId, path }) => [uniqueId, path]));
}

// Requests have priority. On Linux a thread has its own priority, which esbuild inherits; elsewhere the process has. With the
// lowest one the thread would hardly run while the processors are busy, and the server would not follow its manifest.
if (process.platform === "linux") setPriority(constants.priority.PRIORITY_BELOW_NORMAL);

parentPort?.on("message", (active: ActiveManifest | null) => {
  refresh(active).then(
    // The document of a large API takes long to copy: its memory moves to the main thread.
    (rendered) => parentPort?.postMessage(rendered, memoryOf(rendered)),
    (error: unknown) => parentPort?.postMessage({ kind: "error", detail: messageOf(error) }),
  );
});

function memoryOf(rendered: RenderResult): ArrayBuffer[] {
  return rendered.kind === "rendered" ? [rendered.release.openApi.buffer as ArrayBuffer] : [];
}
