import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { needs } from "./support/needs.js";
import { filesOf, filesOnClickhouse, type TestSet } from "./support/test-sets.js";

const source = (file: string): string => fileURLToPath(new URL(`../${file}`, import.meta.url));

const set = (process.env["TEST_SET"] ?? "all") as TestSet;

export default defineConfig({
  resolve: {
    alias: [
      { find: /^@routewright\/runtime$/, replacement: source("runtime/index.ts") },
      { find: /^@routewright\/runtime\/model$/, replacement: source("runtime/generator-api.ts") },
      { find: /^@routewright\/runtime\/internal\/(.+)\.js$/, replacement: source("runtime/$1.ts") },
      { find: /^@routewright\/ramp$/, replacement: source("runtime/ramp/ramp-service.ts") },
      { find: /^@routewright\/ramp\/environment$/, replacement: source("runtime/ramp/environment.ts") },
      { find: /^@routewright\/runtime\/(\w+)$/, replacement: source("runtime/server/$1.ts") },
    ],
  },
  test: {
    root: source("."),
    projects: [
      { extends: true, test: { name: "postgres", include: [...filesOf(set)] } },
      // The same suites on the other engine.
      ...(needs("libchdb.so", "python3")
        ? [
            {
              extends: true as const,
              test: {
                name: "clickhouse",
                include: [...filesOnClickhouse(set)],
                env: { TEST_ENGINE: "clickhouse" },
              },
            },
          ]
        : []),
    ],
    globalSetup: source("tests/support/global-setup.ts"),
    setupFiles: source("tests/support/read-statements.ts"),
    // Bounds of tests that hang. They must not fail a test because the machine is busy.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 90_000 } },
    // Many tests wait: with six on two busy cores some of the rest met their bounds.
    maxWorkers: set === "quick" ? 5 : 4,
    // Four of a hundred seconds of a processor less for collecting what is short-lived. The rest measures memory.
    execArgv: set === "quick" ? ["--max-semi-space-size=64"] : [],
    // The compilers that tests run are written in Go: collecting less often takes a fifth of their processor time off.
    env: set === "quick" ? { GOGC: "400" } : {},
    // Loading the modules again for each file took most of the time. No file may leave global state behind.
    isolate: false,
    // Transforming them takes as much time again where two projects, or the next run, load the same ones.
    experimental: { fsModuleCache: true, fsModuleCachePath: source(".data/vitest") },
  },
});
