import { join } from "node:path";
import type { ApiAbout } from "../../core/model/about.js";
import { groupedBy } from "../../core/model/grouped.js";
import { relationsOf } from "../../core/model/missing-columns.js";
import { servedPaths } from "../../core/model/endpoint.js";
import {
  type CompiledModule,
  compileModules,
  evaluateModule,
  readGeneratedFiles,
  sourcesOf,
} from "./generated-folder.js";
import { CompressedText } from "../../core/http/compressed-text.js";
import type {
  LoadedEndpoint,
  LoadedRelease,
  ManifestVersion,
  ReleaseFacts,
} from "../../core/handler/loaded-release.js";
import { lineageIn } from "../../core/model/served-lineage.js";
import { ownValue } from "../../core/model/own-value.js";
import { privateMarks } from "./private-marks.js";
import type { Tier } from "../../core/model/tier.js";

/** Everything that a server needs to serve an API, serializable for worker processes. */
export interface Release extends ReleaseFacts {
  /** The OpenAPI document, as UTF-8. */
  readonly openApi: Uint8Array;
  /** Texts of `catalogue.json` and `lineage.json`. */
  readonly documentation: { readonly catalogue: string; readonly lineage: string };
  readonly modules: readonly CompiledModule[];
}

/**
 * Loads a release. Modules that the previous release has too are not evaluated again.
 *
 * @throws when a module does not load
 */
export function loadRelease(
  { modules, openApi, documentation, ...release }: Release,
  previous: LoadedRelease | null,
): LoadedRelease {
  const loaded = new Map(
    [...(previous?.endpoints.values() ?? [])].map((endpoint) => [endpoint.digest, endpoint]),
  );
  const endpoints = modules.map((module) => loaded.get(module.digest) ?? evaluateModule(module));
  const byPath = new Map(endpoints.map((endpoint) => [endpoint.spec.path, endpoint]));
  const served = byServedPath(modules, endpoints);
  const catalogue = new CompressedText(documentation.catalogue);
  return {
    ...release,
    openApi: new CompressedText(openApi),
    documentation: { catalogue, lineage: new CompressedText(documentation.lineage) },
    endpoints: byPath,
    served,
    readers: readersOf(endpoints),
    ...nodesIn(documentation, served),
    isPrivate: privateMarks(catalogue),
  };
}

function readersOf(endpoints: readonly LoadedEndpoint[]): LoadedRelease["readers"] {
  const reads = endpoints.flatMap(({ spec }) => {
    const names = new Set(relationsOf(spec).map((relation) => relation.join(".")));
    return [...names].map((name) => ({ name, spec }));
  });
  return groupedBy(reads, ({ name }) => name);
}

/** A folder of an earlier version does not list them. */
function nodesIn(
  { lineage }: Release["documentation"],
  served: LoadedRelease["served"],
): Pick<LoadedRelease, "upstreamNodes" | "rowNodes" | "checkedNodes" | "rollUpNodes" | "tests"> {
  const {
    upstreamNodes = {},
    rowNodes = {},
    checkedNodes = {},
    rollUpNodes = {},
    tests = {},
  } = lineageIn(lineage);
  const byServedPaths = <T>(byPath: Readonly<Record<string, T>>, idsOf: (value: T) => readonly string[]) =>
    new Map(
      [...served].flatMap(([path, { spec }]) => {
        const value = ownValue(byPath, spec.path);
        return value === undefined ? [] : [[path, idsOf(value)] as const];
      }),
    );
  const ids = (list: readonly string[]) => list;
  return {
    upstreamNodes: byServedPaths(upstreamNodes, ids),
    rowNodes: byServedPaths(rowNodes, ids),
    checkedNodes: byServedPaths(checkedNodes, ids),
    rollUpNodes: new Map(Object.entries(rollUpNodes)),
    tests: byServedPaths(tests, Object.keys),
  };
}

/** @throws when two modules serve a path: one of the two would be lost, with its tier */
function byServedPath(
  modules: readonly CompiledModule[],
  endpoints: readonly LoadedEndpoint[],
): LoadedRelease["served"] {
  const served = new Map<string, LoadedEndpoint>();
  for (const endpoint of endpoints) {
    for (const path of servedPaths(endpoint.spec)) {
      const other = served.get(path);
      if (other)
        throw new Error(`${fileOf(other)} and ${fileOf(endpoint)} both serve ${path}: delete one of them.`);
      served.set(path, endpoint);
    }
  }
  return served;

  function fileOf(endpoint: LoadedEndpoint): string {
    return modules[endpoints.indexOf(endpoint)]?.file ?? "";
  }
}

interface GeneratedReleaseOptions {
  /** The generated folder. */
  readonly generated: string;
  /** Title of the served OpenAPI document; null: the generated one. */
  readonly apiTitle?: string | null;
  /** Whether modules may differ from what was generated. */
  readonly allowEdited?: boolean | undefined;
}

/** The release of a generated folder. */
export interface GeneratedRelease {
  /** Of the API. */
  readonly title: string;
  /** What its documents say of it and its operator. */
  readonly about: ApiAbout;
  readonly release: Release;
  /** Tier of endpoints without a tier tag. */
  readonly defaultTier: Tier;
  /** Its digest. */
  readonly folder: string;
}

/** Reads the release of a generated folder. Rejects with a clear message when the folder is missing or invalid. */
export async function readGeneratedRelease({
  generated,
  apiTitle = null,
  allowEdited,
}: GeneratedReleaseOptions): Promise<GeneratedRelease> {
  const { files, folder, defaultTier, about, ...facts } = await readGeneratedFiles(generated, allowEdited);
  const textOf = (file: string): string => files.get(file)?.toString() ?? "";
  const openApi = files.get("openapi.json") ?? Buffer.of();
  const title = allowEdited === true ? titleOf(openApi) : titleIn(openApi);
  if (title === null)
    throw new Error(
      `${join(generated, "openapi.json")} is not an OpenAPI document: run \`routewright generate\` again.`,
    );
  const release = {
    openApi: apiTitle === null ? openApi : renamed(openApi, apiTitle),
    documentation: { catalogue: textOf("catalogue.json"), lineage: textOf("lineage.json") },
    modules: await compileModules(sourcesOf(files)),
    manifest: null,
    ...facts,
  };
  return { title: apiTitle ?? title, about, release, defaultTier, folder };
}

/** As it was generated, a document has its title at its beginning: parsed, one of 500 endpoints took 20 MB at each start. */
function titleIn(openApi: Buffer): string | null {
  const head = openApi.toString("utf8", 0, HEAD_BYTES);
  const [, text] = /^ {2}"info": \{\n {4}"title": ("(?:[^"\\\n]|\\.)*")/m.exec(head) ?? [];
  return text === undefined ? titleOf(openApi) : (JSON.parse(text) as string);
}

const HEAD_BYTES = 4096;

function titleOf(openApi: Buffer): string | null {
  const title = parsed(openApi)?.info?.title;
  return typeof title === "string" ? title : null;
}

function renamed(openApi: Buffer, title: string): Buffer {
  const document = parsed(openApi);
  return Buffer.from(JSON.stringify({ ...document, info: { ...document?.info, title } }));
}

function parsed(openApi: Buffer): { readonly info?: { readonly title?: unknown } } | null {
  try {
    return JSON.parse(openApi.toString()) as ReturnType<typeof parsed>;
  } catch {
    return null;
  }
}

/**
 * Whether a reload keeps the release of a manifest refresh, with the folder's plans. Not where the folder now has another default tier:
 * endpoints without a tier tag would keep the old one until the manifest is rendered again.
 */
export function keepsManifest(manifest: ManifestVersion | null, folder: GeneratedRelease): boolean {
  return manifest?.defaultTier === folder.defaultTier;
}
