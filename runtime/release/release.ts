import { join } from "node:path";
import type { ApiAbout } from "../model/about.js";
import { groupedBy } from "../model/grouped.js";
import { relationsOf } from "../model/column-names.js";
import { type Endpoint, servedPaths } from "../model/endpoint.js";
import {
  type CompiledModule,
  compileModules,
  evaluateModule,
  type LoadedEndpoint,
  readGeneratedFiles,
  sourcesOf,
} from "./generated-folder.js";
import { CompressedText } from "../http/compressed-text.js";
import { lineageIn, ownValue } from "../model/lineage-file.js";
import { privateMarks } from "./private-marks.js";
import type { Tier } from "../model/tier.js";

/** Everything that a server needs to serve an API, serializable for worker processes. */
export interface Release {
  /** The OpenAPI document, as UTF-8. */
  readonly openApi: Uint8Array;
  /** Texts of `catalogue.json` and `lineage.json`. */
  readonly documentation: { readonly catalogue: string; readonly lineage: string };
  readonly modules: readonly CompiledModule[];
  /** Number of models tagged for the API that have no endpoint. */
  readonly skippedModels: number;
  /** Name of dbt's adapter; null where it is not known. */
  readonly adapter: string | null;
  /** Name of dbt's adapter where the relations are copies of its own; null where dbt builds them in the database. */
  readonly copiedFrom: string | null;
  /** Its manifest; null for a generated folder. */
  readonly manifest: ManifestVersion | null;
}

/** Identifies a manifest. */
export interface ManifestVersion {
  /** Hash of the manifest's bytes; with a dbt catalog, of both. */
  readonly hash: string;
  /** When it was loaded, in milliseconds since 1970. */
  readonly loadedAt: number;
  /** Models in the manifest. */
  readonly models: number;
  readonly skipped: readonly SkippedModel[];
  readonly heldBack: readonly HeldBackEndpoint[];
  /** Tier of its endpoints without a tier tag: that of the generated folder at the time. */
  readonly defaultTier: Tier;
}

/** An endpoint whose changes the guard holds back (runtime/docs/refresh.md). */
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
export interface LoadedRelease extends Omit<Release, "modules" | "openApi" | "documentation"> {
  readonly openApi: CompressedText;
  /** `catalogue.json` and `lineage.json`. */
  readonly documentation: Readonly<Record<keyof Release["documentation"], CompressedText>>;
  /** By path. */
  readonly endpoints: ReadonlyMap<string, LoadedEndpoint>;
  /** By each path that it answers at: its own and its former ones. */
  readonly served: ReadonlyMap<string, LoadedEndpoint>;
  /** By `schema.name`: the endpoints that read the relation. */
  readonly readers: ReadonlyMap<string, readonly { readonly spec: Endpoint }[]>;
  /** By the same paths: the dbt nodes (`unique_id`) whose builds change the rows. */
  readonly upstreamNodes: ReadonlyMap<string, readonly string[]>;
  /** Whether the project marks a column of the endpoint at this path as private data. */
  readonly isPrivate: (path: string, column: string) => boolean;
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
    upstreamNodes: upstreamNodesIn(documentation, served),
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
function upstreamNodesIn(
  { lineage }: Release["documentation"],
  served: LoadedRelease["served"],
): LoadedRelease["upstreamNodes"] {
  const { upstreamNodes = {} } = lineageIn(lineage);
  return new Map(
    [...served].flatMap(([path, { spec }]) => {
      const nodes = ownValue(upstreamNodes, spec.path);
      return nodes === undefined ? [] : [[path, nodes] as const];
    }),
  );
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
}

/** Reads the release of a generated folder. Rejects with a clear message when the folder is missing or invalid. */
export async function readGeneratedRelease({
  generated,
  apiTitle = null,
  allowEdited,
}: GeneratedReleaseOptions): Promise<GeneratedRelease> {
  const { files, defaultTier, about, ...facts } = await readGeneratedFiles(generated, allowEdited);
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
  return { title: apiTitle ?? title, about, release, defaultTier };
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
 * Whether a reload keeps the release of a manifest refresh. Not where the folder now has another default tier: endpoints
 * without a tier tag would keep the old one until the manifest changes.
 */
export function keepsManifest(manifest: ManifestVersion | null, folder: GeneratedRelease): boolean {
  return manifest?.defaultTier === folder.defaultTier;
}
