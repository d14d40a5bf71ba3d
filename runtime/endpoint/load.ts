import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join, sep } from "node:path";
import { Script } from "node:vm";
import * as runtime from "../index.js";
import type { EndpointModule } from "./define.js";

/** The one package that a generated module imports; it is given this very process's runtime. */
const PACKAGE = "@routewright/runtime";

/** A generated folder, ready to serve. */
export interface Generated {
  readonly endpoints: readonly EndpointModule[];
  /** The OpenAPI document, as text. */
  readonly openApi: string;
}

/**
 * Loads a generated folder straight from its TypeScript. What it compiles to is kept in `cacheDir` under the hash of
 * the sources, so a second start compiles nothing. Modules are evaluated as one script and not as ES modules, which
 * Node would keep for ever.
 */
export async function loadGenerated(folder: string, cacheDir: string): Promise<Generated> {
  const openApi = readFileSync(join(folder, "openapi.json"), "utf8");
  const script = await compiled(folder, cacheDir);
  return { endpoints: evaluate(script, join(folder, "index.ts")), openApi };
}

async function compiled(folder: string, cacheDir: string): Promise<string> {
  const cached = join(cacheDir, `routes-${hashOfSources(folder)}.cjs`);
  try {
    return readFileSync(cached, "utf8");
  } catch {
    const script = await compile(folder);
    keep(cached, script, cacheDir);
    return script;
  }
}

function hashOfSources(folder: string): string {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) =>
    file.endsWith(".ts"),
  );
  const hash = createHash("sha256");
  for (const file of files.sort()) {
    const text = readFileSync(join(folder, file));
    hash.update(`${file.replaceAll(sep, "/")}\0${String(text.length)}\0`).update(text);
  }
  return hash.digest("hex").slice(0, 32);
}

async function compile(folder: string): Promise<string> {
  // Loaded only where something is to compile.
  const { build } = await import("esbuild");
  const { outputFiles } = await build({
    entryPoints: [join(folder, "index.ts")],
    bundle: true,
    external: [PACKAGE],
    format: "cjs",
    platform: "node",
    target: "node20",
    write: false,
    logLevel: "silent",
    tsconfigRaw: {},
  });
  return outputFiles[0]?.text ?? "";
}

/** A cache that cannot be written costs time at the next start and nothing else. */
function keep(file: string, script: string, cacheDir: string): void {
  try {
    mkdirSync(cacheDir, { recursive: true });
    const stale = readdirSync(cacheDir).filter((name) => name.startsWith("routes-"));
    writeFileSync(`${file}.${String(process.pid)}.tmp`, script);
    renameSync(`${file}.${String(process.pid)}.tmp`, file);
    for (const name of stale) rmSync(join(cacheDir, name), { force: true });
  } catch {
    return;
  }
}

function evaluate(script: string, filename: string): readonly EndpointModule[] {
  const module = { exports: {} as { endpoints?: readonly EndpointModule[] } };
  const run = new Script(`(function (module, exports, require) {${script}\n})`, {
    filename,
  }).runInThisContext() as (...scope: unknown[]) => void;
  run(module, module.exports, give);
  return module.exports.endpoints ?? [];
}

function give(name: string): unknown {
  if (name === PACKAGE) return runtime;
  throw new Error(`A generated module asks for ${name}; it may import ${PACKAGE} only.`);
}
