import { build, type Plugin } from "esbuild";
import { type ChildProcess, spawn } from "node:child_process";
import { rmSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { NewConnection } from "../../../runtime/ramp/operator/integrations.js";
import { atEnd } from "../../support/at-end.js";

/** Where Node finds the runtime's own dependencies; ignored by Git, and no part of its package. */
const BUNDLES = fileURLToPath(
  new URL("../../../runtime/node_modules/.cache/test-processes/", import.meta.url),
);

const bundles = new Map<string, Promise<string>>();

/** A TypeScript file and what it imports as one JavaScript file: a process that loads many modules one by one starts slowly. */
function bundleOf(path: string): Promise<string> {
  const known = bundles.get(path);
  if (known) return known;
  const outfile = `${BUNDLES}${String(process.pid)}-${basename(path, ".ts")}.mjs`;
  const bundle = build({
    entryPoints: [path],
    outfile,
    bundle: true,
    platform: "node",
    format: "esm",
    packages: "external",
    sourcemap: "inline",
    plugins: [OWN_URLS],
  }).then(() => outfile);
  process.once("exit", () => rmSync(outfile, { force: true }));
  bundles.set(path, bundle);
  return bundle;
}

/** Each file keeps its own address: some find others by it. */
const OWN_URLS: Plugin = {
  name: "own-urls",
  setup: ({ onLoad }) =>
    onLoad({ filter: /\.ts$/ }, async ({ path }) => ({
      contents: (await readFile(path, "utf8")).replaceAll(
        "import.meta.url",
        JSON.stringify(pathToFileURL(path).href),
      ),
      loader: "ts",
    })),
};

export interface OwnProcess {
  /** The first line that it printed. */
  readonly said: string;
  readonly child: ChildProcess;
  /** Resolves once it is gone. */
  kill(signal?: NodeJS.Signals): Promise<void>;
}

/**
 * Starts a TypeScript file as a process of its own and waits for its first line.
 * @param inFront a command that runs the one behind it
 */
export async function startProcess(
  file: string,
  environment: Readonly<Record<string, string>> = {},
  inFront: readonly string[] = [],
): Promise<OwnProcess> {
  const path = await bundleOf(fileURLToPath(new URL(file, import.meta.url)));
  const [command, ...options] = [...inFront, process.execPath, path];
  const child = spawn(command, options, {
    stdio: ["pipe", "pipe", "inherit"],
    env: { ...process.env, ...environment },
  });
  const gone = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const said = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).once("line", resolve);
    void gone.then(() => reject(new Error(`${file} ended before it said anything.`)));
  });
  child.stdout.resume();
  return {
    said,
    child,
    async kill(signal = "SIGTERM") {
      child.kill(signal);
      await gone;
    },
  };
}

/** The connection to a conformance provider (providers/conformance) in a process of its own, which ends with the test file. */
export async function ownConformanceProvider(): Promise<NewConnection> {
  const { said, kill } = await startProcess("../providers/conformance/provider-process.ts");
  atEnd(() => kill());
  return JSON.parse(said) as NewConnection;
}
