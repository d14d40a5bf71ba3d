import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const source = (file: string): string => fileURLToPath(new URL(`../${file}`, import.meta.url));

export default defineConfig({
  resolve: {
    alias: [
      { find: /^@routewright\/runtime$/, replacement: source("runtime/index.ts") },
      { find: /^@routewright\/runtime\/(\w+)$/, replacement: source("runtime/$1.ts") },
    ],
  },
  test: {
    root: source("."),
    include: ["tests/**/*.test.ts"],
    globalSetup: source("tests/support/global-setup.ts"),
    // Some start servers and compilers, on machines with few cores.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
  },
});
