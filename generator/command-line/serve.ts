import { availableParallelism } from "node:os";
import { type Command, InvalidArgumentError, Option } from "commander";
import type { ServeFlags } from "../commands/serve/flags.js";
import type { Then } from "./then.js";

/** Each takes some 100 MB and connections to the database. */
const MOST_WORKERS = 64;

export function addServe(command: Command, then: Then): void {
  command
    .description("serve a generated folder straight from its TypeScript")
    .option("--generated <folder>", "the generated folder", "generated")
    .option("--port <number>", "port of the data API (default: PORT or 8000)")
    .option("--ramp-port <number>", "port of the ramp API (default: RAMP_PORT or 8001)")
    .addOption(new Option("--only <api>", "serve one of the two APIs").choices(["data", "ramp"]))
    .option("--watch", "follow the manifest of DBT_MANIFEST_PATH or DBT_MANIFEST_URL", false)
    .option("--guard", "at refresh, hold back what `diff` calls breaking or exposing (REFRESH_GUARD)", false)
    .option("--workers <number>", "processes that serve the data API, or auto: one per core", workers, 1)
    .action((flags: ServeFlags) => then(import("../commands/serve.js").then(({ serve }) => serve(flags))));
}

function workers(text: string): number {
  if (text === "auto") return Math.min(availableParallelism(), MOST_WORKERS);
  const number = /^\d{1,2}$/.test(text) ? Number(text) : 0;
  if (number >= 1 && number <= MOST_WORKERS) return number;
  throw new InvalidArgumentError(`It must be a whole number from 1 to ${String(MOST_WORKERS)}, or auto.`);
}
