import { existsSync, readdirSync, readFileSync, mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join, sep, dirname } from "node:path";
import { Script } from "node:vm";
import { createHash } from "node:crypto";
import { defineEndpoint, type EndpointModule, requireSchema } from "./define.js";
import { messageOf } from "../model/error-message.js";

/** The one package that a generated module imports. */
const PACKAGE = "@routewright/runtime";

/** The compiled content of a generated folder. */
interface GeneratedFolder {
  readonly modules: readonly CompiledModule[];
  /** The OpenAPI document, as UTF-8 and parsed. */
  readonly openApi: { readonly bytes: Uint8Array; readonly document: OpenApi };
  /** Texts of `catalogue.json` and `lineage.json`; empty where an older folder has no such file. */
  readonly documentation: { readonly catalogue: string; readonly lineage: string };
}

/** An evaluated module with the digest of its source. */
export interface LoadedEndpoint extends Required<EndpointModule> {
  readonly digest: string;
}

/**
 * Reads a generated folder and compiles its TypeScript. Compiled modules are cached in `cacheDir` by the digest of their
 * source, so a start compiles only modules that changed since the last one.
 */
export async function readGenerated(folder: string, cacheDir: string): Promise<GeneratedFolder> {
  const openApi = readOpenApi(folder);
  const documentation = {
    catalogue: textOrEmpty(join(folder, "catalogue.json")),
    lineage: textOrEmpty(join(folder, "lineage.json")),
  };
  const schema = /"schemaVersion": (\d+)/.exec(documentation.catalogue)?.[1];
  if (schema !== undefined) requireSchema(`${folder} has`, Number(schema));
  const cacheFile = join(cacheDir, "routes.json");
  const cache = readScriptCache(cacheFile);
  const known = cache.size;
  const modules = await compileModules(readRoutes(folder), cache);
  if (cache.size > known) writeScriptCache(cacheFile, modules);
  return { modules, openApi, documentation };
}

interface OpenApi {
  readonly info: { readonly title: string };
}

function readOpenApi(folder: string): GeneratedFolder["openApi"] {
  const file = join(folder, "openapi.json");
  if (!existsSync(file))
    throw new Error(
      `${folder} is not a generated folder, it has no openapi.json: run \`routewright generate\`, or name another folder.`,
    );
  const bytes = readFileSync(file);
  const document = parsed(bytes.toString());
  if (!document) throw new Error(`${file} is not an OpenAPI document: run \`routewright generate\` again.`);
  return { bytes, document };
}

function textOrEmpty(file: string): string {
  return existsSync(file) ? readFileSync(file, "utf8") : "";
}

function parsed(openApi: string): OpenApi | null {
  try {
    const document = JSON.parse(openApi) as { info?: { title?: unknown } } | null;
    return typeof document?.info?.title === "string" ? (document as OpenApi) : null;
  } catch {
    return null;
  }
}

function readRoutes(folder: string): ReadonlyMap<string, string> {
  const routes = join(folder, "routes");
  if (!existsSync(routes)) return new Map();
  const files = readdirSync(routes, { recursive: true, encoding: "utf8" }).filter((file) =>
    file.endsWith(".ts"),
  );
  return new Map(
    files.sort().map((file) => [file.replaceAll(sep, "/"), readFileSync(join(routes, file), "utf8")]),
  );
}

/**
 * Evaluates a compiled module. It is a plain script, since Node never frees ES modules: the code of a removed endpoint is
 * garbage collected.
 */
export function evaluateModule({ file, digest, script }: CompiledModule): LoadedEndpoint {
  const module: { exports: Partial<EndpointModule> } = { exports: {} };
  const wrapped = new Script(`(function (module, exports, require) {${script}\n})`, { filename: file });
  const run = wrapped.runInThisContext() as (...scope: unknown[]) => void;
  try {
    run(module, module.exports, requirePackage);
  } catch (error) {
    throw new Error(`${file}: ${messageOf(error)}`, { cause: error });
  }
  const { spec, get, post } = module.exports;
  if (!spec || !get) throw new Error(`${file} exports no endpoint: run \`routewright generate\` again.`);
  return { spec, get, post: post ?? get, digest };
}

/** `require` for generated modules: `defineEndpoint` is all they use at run time. */
function requirePackage(name: string): unknown {
  if (name === PACKAGE) return { defineEndpoint };
  throw new Error(`Cannot import ${name}: a generated module may import ${PACKAGE} only.`);
}

/** A generated module as JavaScript, ready to be evaluated. */
export interface CompiledModule {
  /** Path within the generated folder. */
  readonly file: string;
  /** Digest of its TypeScript. */
  readonly digest: string;
  readonly script: string;
}

/** JavaScript by the digest of its TypeScript. */
export type ScriptCache = Map<string, string>;

/**
 * Compiles the generated modules that are not in the cache.
 */
export async function compileModules(
  files: ReadonlyMap<string, string>,
  cache: ScriptCache,
): Promise<readonly CompiledModule[]> {
  const sources = [...files].map(([file, text]) => ({ file, text, digest: digestOf(text) }));
  const missing = sources.filter(({ digest }) => !cache.has(digest));
  if (missing.length > 0) {
    // Loaded only if something must be compiled.
    const { transform } = await import("esbuild");
    const compile = async ({ file, text, digest }: (typeof missing)[number]): Promise<void> => {
      const { code } = await transform(text, {
        sourcefile: file,
        loader: "ts",
        format: "cjs",
        target: "node20",
        tsconfigRaw: {},
      });
      cache.set(digest, code);
    };
    await Promise.all(missing.map(compile));
  }
  return sources.map(({ file, digest }) => ({ file, digest, script: cache.get(digest) ?? "" }));
}

function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 32);
}

/** Reads a cache file; a missing or damaged one is an empty cache. */
function readScriptCache(file: string): ScriptCache {
  try {
    return new Map(Object.entries(JSON.parse(readFileSync(file, "utf8")) as Record<string, string>));
  } catch {
    return new Map();
  }
}

/** Stores the scripts in use. A failure is ignored: it only makes the next start slower. */
function writeScriptCache(file: string, modules: readonly CompiledModule[]): void {
  const staged = `${file}.${String(process.pid)}.tmp`;
  try {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(
      staged,
      JSON.stringify(Object.fromEntries(modules.map(({ digest, script }) => [digest, script]))),
    );
    renameSync(staged, file);
  } catch {
    return;
  }
}
