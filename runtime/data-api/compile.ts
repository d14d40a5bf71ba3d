import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

/** A generated module as JavaScript, ready to be evaluated. */
export interface CompiledModule {
  /** Path within the generated folder. */
  readonly file: string;
  /** Of the TypeScript it was made from. */
  readonly digest: string;
  readonly script: string;
}

/** JavaScript by the digest of its TypeScript. */
export type ScriptCache = Map<string, string>;

/**
 * Compiles generated modules one by one: what is in the cache is not compiled again, so a changed catalogue costs
 * what changed in it.
 */
export async function compileModules(
  files: ReadonlyMap<string, string>,
  cache: ScriptCache,
): Promise<readonly CompiledModule[]> {
  const sources = [...files].map(([file, text]) => ({ file, text, digest: digestOf(text) }));
  const missing = sources.filter(({ digest }) => !cache.has(digest));
  if (missing.length > 0) {
    // Loaded only where something is to compile.
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

export function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 32);
}

/** Reads a cache file; one that is missing or damaged is an empty cache. */
export function readScriptCache(file: string): ScriptCache {
  try {
    return new Map(Object.entries(JSON.parse(readFileSync(file, "utf8")) as Record<string, string>));
  } catch {
    return new Map();
  }
}

/** Keeps the scripts in use. A cache that cannot be written costs time at the next start and nothing else. */
export function writeScriptCache(file: string, modules: readonly CompiledModule[]): void {
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
