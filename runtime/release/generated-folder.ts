import { join } from "node:path";
import { Script } from "node:vm";
import { defineEndpoint, type EndpointModule } from "./define.js";
import { type GeneratedFiles, readGeneratedFiles } from "./generated-files.js";
import { digestOf } from "../model/digest.js";
import { messageOf } from "../model/outcome.js";
import { isTier } from "../model/tier.js";

/** The one package that a generated module imports. */
const PACKAGE = "@routewright/runtime";

/** The compiled content of a generated folder. */
interface GeneratedFolder extends Pick<GeneratedFiles, "defaultTier" | "adapter" | "skippedModels"> {
  readonly modules: readonly CompiledModule[];
  /** The OpenAPI document, as UTF-8 and parsed. */
  readonly openApi: { readonly bytes: Uint8Array; readonly document: OpenApi };
  /** Texts of `catalogue.json` and `lineage.json`. */
  readonly documentation: { readonly catalogue: string; readonly lineage: string };
}

/** An evaluated module with the digest of its source. */
export interface LoadedEndpoint extends Required<EndpointModule> {
  readonly digest: string;
}

/** Reads a generated folder and compiles its TypeScript. */
export async function readGenerated(folder: string, allowEdited = false): Promise<GeneratedFolder> {
  const { files, ...facts } = await readGeneratedFiles(folder, { allowEdited });
  const textOf = (file: string): string => files.get(file)?.toString() ?? "";
  return {
    modules: await compileModules(sourcesOf(files)),
    openApi: openApiOf(files.get("openapi.json"), join(folder, "openapi.json")),
    documentation: { catalogue: textOf("catalogue.json"), lineage: textOf("lineage.json") },
    ...facts,
  };
}

interface OpenApi {
  readonly info: { readonly title: string };
}

function openApiOf(bytes: Buffer = Buffer.of(), file: string): GeneratedFolder["openApi"] {
  const document = parsed(bytes.toString());
  if (!document) throw new Error(`${file} is not an OpenAPI document: run \`routewright generate\` again.`);
  return { bytes, document };
}

function parsed(openApi: string): OpenApi | null {
  try {
    const document = JSON.parse(openApi) as { info?: { title?: unknown } } | null;
    return typeof document?.info?.title === "string" ? (document as OpenApi) : null;
  } catch {
    return null;
  }
}

/** Module sources by their path below `routes/`. */
function sourcesOf(files: GeneratedFiles["files"]): ReadonlyMap<string, string> {
  const routes = [...files].filter(([file]) => file.startsWith("routes/") && file.endsWith(".ts"));
  return new Map(routes.map(([file, bytes]) => [file.slice("routes/".length), bytes.toString()]));
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
  if (!isTier(spec.tier)) throw new Error(`${file}: ${JSON.stringify(spec.tier)} is not a tier.`);
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

/** Running ones of this thread: they share esbuild's process. */
let compilations = 0;

/** Compiles generated modules: 500 take 0.3 s. */
export async function compileModules(files: ReadonlyMap<string, string>): Promise<readonly CompiledModule[]> {
  // An app that mounts the handlers itself does not need it.
  const { transform, stop } = await import("esbuild");
  const compile = async ([file, text]: readonly [string, string]): Promise<CompiledModule> => {
    const { code } = await transform(text, {
      sourcefile: file,
      loader: "ts",
      format: "cjs",
      target: "node20",
      tsconfigRaw: {},
    });
    return { file, digest: digestOf(text), script: code };
  };
  compilations++;
  try {
    return await Promise.all([...files].map(compile));
  } finally {
    // It would keep its process: one that dies (a closing terminal signals the whole group) fails every later compilation.
    if (--compilations === 0) await stop();
  }
}
