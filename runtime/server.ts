/** The servers, for the command line. */
export { readEnvironment, type Environment, type EnvironmentReading } from "./environment/environment.js";
export { openLog } from "./http/logger.js";
export type { RunningServer } from "./http/server.js";
export type { Build } from "./data-api/data-versions.js";
export type { Rendered, Renderer, Rendering } from "./data-api/refresh.js";
export { startService, type RunningService, type ServiceOptions } from "./start.js";
export {
  type Grouping,
  readUsage,
  type UsageLine,
  type UsageQuestion,
  type UsageReading,
} from "./observability/usage-report.js";
export { Supervisor, type SupervisorOptions } from "./cluster/supervisor.js";
export { startEmbeddedPostgres, type EmbeddedPostgres } from "./embedded/embedded-postgres.js";
