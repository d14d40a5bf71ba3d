import { type Command, Option } from "commander";
import type { ServeFlags } from "../commands/serve.js";
import type { Then } from "./then.js";

export function addServe(command: Command, then: Then): void {
  command
    .description("serve a generated folder straight from its TypeScript")
    .option("--generated <folder>", "the generated folder", "generated")
    .option("--port <number>", "port of the data API (default: PORT or 8000)")
    .option("--ramp-port <number>", "port of the ramp API (default: RAMP_PORT or 8001)")
    .addOption(new Option("--only <api>", "serve one of the two APIs").choices(["data", "ramp"]))
    .option("--watch", "follow the manifest of DBT_MANIFEST_PATH or DBT_MANIFEST_URL", false)
    .action((flags: ServeFlags) => then(import("../commands/serve.js").then(({ serve }) => serve(flags))));
}
