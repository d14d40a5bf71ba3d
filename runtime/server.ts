/** The servers, for the command line. */
import { fileURLToPath } from "node:url";
import { Supervisor, type SupervisorOptions } from "./cluster/supervisor.js";
import { startEmbeddedPostgres } from "./embedded/embedded-postgres.js";

export { readEnvironment, type Environment, type EnvironmentResult } from "./environment/environment.js";
export { openLog } from "./http/logger.js";
export type { RunningServer } from "./http/listen.js";
export { type NodeBuild, BuildRecords, type TestRun } from "./data-api/data-versions.js";
export type { Rendered, Renderer, Rendering } from "./data-api/refresh.js";
export type { HeldBackEndpoint } from "./data-api/release.js";
export { startService, type RunningService, type ServiceOptions } from "./start.js";
export {
  type Grouping,
  readUsage,
  type UsageLine,
  type UsageQuery,
  type UsageResult,
} from "./observability/usage-report.js";
export type { Supervisor } from "./cluster/supervisor.js";
export { startEmbeddedPostgres, type EmbeddedPostgres } from "./embedded/embedded-postgres.js";

/** What a worker process runs. */
const WORKER = fileURLToPath(new URL("./worker.js", import.meta.url));

/** The primary process of `serve --workers` (runtime/README.md, Operations). */
export function openSupervisor(options: Omit<SupervisorOptions, "script" | "startEmbedded">): Supervisor {
  return new Supervisor({ ...options, script: WORKER, startEmbedded: startEmbeddedPostgres });
}
