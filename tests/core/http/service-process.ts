/**
 * The data API in a process of its own, which tells its parent how requests affect it: each message names a figure, and is
 * answered with it. The environment is the service's; `GENERATED` and `DATA` are its folders.
 */
import { readEnvironment } from "../../../runtime/server/operations/environment.js";
import { startService } from "../../../runtime/server/server.js";
import { parsingMs, processorMs } from "../../support/processor-time.js";

const reading = readEnvironment(process.env);
if (!reading.ok) throw new Error(reading.problems.join("\n"));
const { GENERATED: generated = "", DATA: dataDir = "" } = process.env;
const service = await startService({ environment: reading.value.environment, generated, dataDir });

/** What a collection finds dead outside of the heap, buffers and handles of Node, is counted as free after the next one. */
function usedBytes(): number {
  for (let i = 0; i < 3; i++) globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

const FIGURES = { usedBytes, processorMs, parsingMs };
export type Figure = keyof typeof FIGURES;

process.on("message", (figure: Figure) => process.send?.(FIGURES[figure]()));
process.on("disconnect", () => process.exit(0));
process.send?.(service.url);
