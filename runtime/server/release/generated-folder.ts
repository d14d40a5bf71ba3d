import type { ApiAbout } from "../../core/model/about.js";
import type { Plans } from "../../core/model/organization-plan.js";
import { readdirSync, readFileSync } from "node:fs";
import { join, sep } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { compileFunction } from "node:vm";
import type * as esbuild from "esbuild";
import { defineEndpoint, type EndpointModule, requireSchema } from "../../core/handler/define.js";
import type { LoadedEndpoint } from "../../core/handler/loaded-release.js";
import { digestOf, hasOwnDigest } from "../../core/model/digest.js";
import { ServedEndpoint } from "../../core/model/served-endpoint.js";
import { messageOf } from "../../core/model/outcome.js";
import { isTier, type Tier } from "../../core/model/tier.js";

/** Module sources by their path below `routes/`. */
export function sourcesOf(files: GeneratedFiles["files"]): ReadonlyMap<string, string> {
  const routes = [...files].filter(([file]) => file.startsWith("routes/") && file.endsWith(".ts"));
  return new Map(routes.map(([file, bytes]) => [file.slice("routes/".length), bytes.toString()]));
}

/**
 * Evaluates a compiled module. It is a plain script, since Node never frees ES modules: the code of a removed endpoint is
 * garbage collected.
 */
export function evaluateModule({ file, digest, script }: CompiledModule): LoadedEndpoint {
  const module: { exports: Partial<EndpointModule> } = { exports: {} };
  // Not a `Script`: V8 caches what it compiles of one, about 8 kB of each module that is run once.
  const run = compileFunction(script, ["module", "exports", "require"], {
    filename: file,
  }) as (...scope: unknown[]) => void;
  try {
    run(module, module.exports, requirePackage);
  } catch (error) {
    throw new Error(`${file}: ${messageOf(error)}`, { cause: error });
  }
  const { spec, get, post } = module.exports;
  if (!spec || !get) throw new Error(`${file} exports no endpoint: run \`routewright generate\` again.`);
  if (!isTier(spec.tier)) throw new Error(`${file}: ${JSON.stringify(spec.tier)} is not a tier.`);
  // An edited module may have a handler of its own.
  const { endpoint = new ServedEndpoint(spec) } = get as { readonly endpoint?: ServedEndpoint };
  return { spec, get, post: post ?? get, served: endpoint, digest };
}

/** The one package that a generated module imports. */
const PACKAGE = "@routewright/runtime";

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

/** Modules that are compiled together. */
const AT_ONCE = 50;

/** Running ones of this thread: they share esbuild's process. */
let compilations = 0;

/** Runs what compiles, which shares esbuild's process with others that run meanwhile. */
export async function withCompiler<T>(run: (compiler: typeof esbuild) => Promise<T>): Promise<T> {
  // An app that mounts the handlers itself does not need it.
  const compiler = await import("esbuild");
  compilations++;
  try {
    return await run(compiler);
  } finally {
    // It would keep its process: one that dies (a closing terminal signals the whole group) fails every later compilation.
    if (--compilations === 0) await compiler.stop();
  }
}

/** Compiles generated modules: 500 take 0.3 s. */
export function compileModules(files: ReadonlyMap<string, string>): Promise<readonly CompiledModule[]> {
  return withCompiler((compiler) => compiledBy(compiler, files));
}

async function compiledBy(
  { transform }: typeof esbuild,
  files: ReadonlyMap<string, string>,
): Promise<readonly CompiledModule[]> {
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
  // Not all at once: what esbuild is sent and answers would lie in memory together, and leave it in pieces.
  const modules: CompiledModule[] = [];
  const left = [...files];
  while (left.length > 0) modules.push(...(await Promise.all(left.splice(0, AT_ONCE).map(compile))));
  return modules;
}

/** The files of a generated folder that belong together. */
export interface GeneratedFiles {
  /** By path within the folder, with `/`. */
  readonly files: ReadonlyMap<string, Buffer>;
  /** Digest of its index, which names all that the folder is. */
  readonly folder: string;
  /** Tier of endpoints without a tier tag, as the folder was generated. */
  readonly defaultTier: Tier;
  /** Name of dbt's adapter; null where the folder does not name it. */
  readonly adapter: string | null;
  /** What the documents say of the API and its operator. */
  readonly about: ApiAbout;
  /** Name of dbt's own adapter where the relations are copies; null where they are none. */
  readonly copiedFrom: string | null;
  /** Of organizations, by name. */
  readonly plans: Plans;
  /** Number of tagged models without an endpoint, without those that their authors exclude. */
  readonly skippedModels: number;
}

/** `routewright generate` may be writing the folder: an invalid one is read again. */
const ATTEMPTS = 3;
const RETRY_MS = 100;

/**
 * Reads a generated folder as one unit: exactly the files that its `catalogue.json` lists, each with the listed digest.
 * Rejects with a message that names each file that is missing, different or not listed. `allowEdited`: modules may differ
 * from what was generated (`serve --allow-edited`).
 */
export async function readGeneratedFiles(folder: string, allowEdited = false): Promise<GeneratedFiles> {
  for (let attempt = 1; ; attempt++) {
    try {
      return readOnce(folder, allowEdited);
    } catch (error) {
      if (attempt === ATTEMPTS) throw error;
      await pause(RETRY_MS);
    }
  }
}

/** The index of the folder; it lists the other files and carries a digest of itself. */
const CATALOGUE = "catalogue.json";

/** The digest of a folder as it is now; null where it has no index. */
export function folderDigest(folder: string): string | null {
  const catalogue = readFile(folder, CATALOGUE);
  return catalogue && digestOf(catalogue);
}

function readOnce(folder: string, allowEdited: boolean): GeneratedFiles {
  const catalogue = readFile(folder, CATALOGUE);
  if (catalogue === null)
    throw new Error(
      `${folder} is not a generated folder, it has no ${CATALOGUE}: run \`routewright generate\`, or name another folder.`,
    );
  const record = parsedCatalogue(catalogue, folder);
  const { schemaVersion, defaultTier, adapter, copiedFrom, about, plans, files, skipped } = record;
  if (typeof schemaVersion === "number") requireSchema(`${folder} has`, schemaVersion);
  if (!isTier(defaultTier) || typeof files !== "object" || files === null) throw damaged(folder);
  const listed = new Map(Object.entries(files as Record<string, unknown>));
  const names = new Set([...listed.keys(), ...moduleNames(folder)]);
  const found = new Map([[CATALOGUE, catalogue]]);
  for (const name of names) {
    const bytes = readFile(folder, name);
    if (bytes !== null) found.set(name, bytes);
  }
  if (!allowEdited) {
    const problems = [...names].flatMap((name) => problemOf(name, listed.get(name), found.get(name)));
    if (!hasOwnDigest(catalogue)) problems.unshift(`${CATALOGUE} is not as it was generated`);
    if (problems.length > 0) throw new Error(edited(folder, problems));
  }
  return {
    files: found,
    folder: digestOf(catalogue),
    defaultTier,
    adapter: typeof adapter === "string" ? adapter : null,
    copiedFrom: typeof copiedFrom === "string" ? copiedFrom : null,
    about: about ?? {},
    plans: (plans ?? {}) as Plans,
    skippedModels: (Array.isArray(skipped) ? (skipped as { readonly reason?: unknown }[]) : []).filter(
      ({ reason }) => reason !== "excluded",
    ).length,
  };
}

function parsedCatalogue(text: Buffer, folder: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text.toString());
    if (typeof value === "object" && value !== null) return value as Record<string, unknown>;
  } catch {
    // Reported as any other damage.
  }
  throw damaged(folder);
}

function damaged(folder: string): Error {
  return new Error(`${join(folder, CATALOGUE)} is damaged or too old: run \`routewright generate\`.`);
}

/** The sources of handlers, with `/`; all of them are loaded. */
function moduleNames(folder: string): readonly string[] {
  try {
    const names = readdirSync(join(folder, "routes"), { recursive: true, encoding: "utf8" });
    return names.filter((name) => name.endsWith(".ts")).map((name) => `routes/${name.replaceAll(sep, "/")}`);
  } catch {
    return [];
  }
}

/** Null for a missing file, and for a folder in its place. */
function readFile(folder: string, name: string): Buffer | null {
  try {
    return readFileSync(join(folder, name));
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (["ENOENT", "ENOTDIR", "EISDIR"].includes(code)) return null;
    throw error;
  }
}

const UNLISTED = `is not listed in ${CATALOGUE}`;

function problemOf(name: string, listed: unknown, bytes: Buffer | undefined): string[] {
  if (bytes === undefined) return [`${name} is missing`];
  if (listed === undefined) return [`${name} ${UNLISTED}`];
  if (digestOf(bytes) === listed) return [];
  return [`${name} ${digestOf(withLf(bytes)) === listed ? CRLF : "is not as it was generated"}`];
}

const CRLF = "has the line ends CRLF";

function withLf(bytes: Buffer): string {
  return bytes.toString().replaceAll("\r\n", "\n");
}

/** The first of many name the cause. */
const MAX_NAMED = 5;

function edited(folder: string, problems: readonly string[]): string {
  const more = problems.length - MAX_NAMED;
  const named = `${problems.slice(0, MAX_NAMED).join(", ")}${more > 0 ? `, and ${String(more)} more` : ""}`;
  return `${folder}: ${named}. ${remedyOf(folder, problems)}; to serve modules that you edit on purpose, use --allow-edited.`;
}

/** `git checkout <commit> -- generated` leaves newer files there; `generate` would undo such a rollback. */
function remedyOf(folder: string, problems: readonly string[]): string {
  if (problems.some((problem) => problem.endsWith(CRLF)))
    return `Add \`${folder}/** text eol=lf\` to .gitattributes and run \`git add --renormalize ${folder}\`, or run \`routewright generate\``;
  if (!problems.every((problem) => problem.includes(UNLISTED))) return "Run `routewright generate`";
  return `Delete it; for a rollback run \`git restore --source=<commit> --staged --worktree ${folder}\`, which does`;
}
