/** Preloaded into a server that is started with `--expose-gc`: on SIGUSR2 it collects its garbage and writes what memory it uses. */
import { renameSync, writeFileSync } from "node:fs";

const file = process.env.BENCH_MEMORY;

process.on("SIGUSR2", () => {
  globalThis.gc?.();
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  writeFileSync(`${file}.new`, JSON.stringify({ heapUsed, external }));
  renameSync(`${file}.new`, file);
});
