import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, sep } from "node:path";
import { Script } from "node:vm";
import * as runtime from "../index.js";
import { type CompiledModule, compileModules, readScriptCache, writeScriptCache } from "./compile.js";
import type { EndpointModule } from "./define.js";

/** The one package that a generated module imports; it is given this very process's runtime. */
const PACKAGE = "@routewright/runtime";

/** A generated folder, compiled. */
export interface GeneratedFolder {
  readonly modules: readonly CompiledModule[];
  /** The OpenAPI document, as text. */
  readonly openApi: string;
}

/** An endpoint in memory, with the digest of the source it came from. */
export interface LoadedEndpoint extends EndpointModule {
  readonly digest: string;
}

/**
 * Reads a generated folder and compiles its TypeScript. What it compiles to is kept in `cacheDir` by the digest of each
 * source, so a start compiles only what has changed since the last one.
 */
export async function readGenerated(folder: string, cacheDir: string): Promise<GeneratedFolder> {
  const openApi = readOpenApi(folder);
  const cacheFile = join(cacheDir, "routes.json");
  const cache = readScriptCache(cacheFile);
  const known = cache.size;
  const modules = await compileModules(readRoutes(folder), cache);
  if (cache.size > known) writeScriptCache(cacheFile, modules);
  return { modules, openApi };
}

function readOpenApi(folder: string): string {
  const file = join(folder, "openapi.json");
  if (!existsSync(file))
    throw new Error(
      `${folder} is not a generated folder, it has no openapi.json: run \`routewright generate\`, or name another folder.`,
    );
  const text = readFileSync(file, "utf8");
  if (!hasTitle(text)) throw new Error(`${file} is no OpenAPI document: run \`routewright generate\` again.`);
  return text;
}

function hasTitle(openApi: string): boolean {
  try {
    const document = JSON.parse(openApi) as { info?: { title?: unknown } } | null;
    return typeof document?.info?.title === "string";
  } catch {
    return false;
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
 * Runs a compiled module. It is a plain script and not an ES module, which Node would keep for ever: once nothing
 * refers to an endpoint any more, its code is collected.
 */
export function evaluateModule({ file, digest, script }: CompiledModule): LoadedEndpoint {
  const module: { exports: Partial<EndpointModule> } = { exports: {} };
  const wrapped = new Script(`(function (module, exports, require) {${script}\n})`, { filename: file });
  const run = wrapped.runInThisContext() as (...scope: unknown[]) => void;
  try {
    run(module, module.exports, give);
  } catch (error) {
    throw new Error(`${file}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
  const { spec, get, post } = module.exports;
  if (!spec || !get) throw new Error(`${file} exports no endpoint: run \`routewright generate\` again.`);
  return { spec, get, post: post ?? get, digest };
}

function give(name: string): unknown {
  if (name === PACKAGE) return runtime;
  throw new Error(`A generated module asks for ${name}; it may import ${PACKAGE} only.`);
}
