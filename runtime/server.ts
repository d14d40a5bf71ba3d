/** The servers, for the command line. */
export { readEnvironment, type Environment, type EnvironmentReading } from "./environment/environment.js";
export { openLog } from "./http/logger.js";
export type { RunningServer } from "./http/server.js";
export type { Build } from "./endpoint/builds.js";
export type { Rendered, Renderer, Rendering } from "./endpoint/refresh.js";
export { startService, type RunningService, type ServiceOptions } from "./start.js";
export {
  type Grouping,
  readUsage,
  type UsageLine,
  type UsageQuestion,
  type UsageReading,
} from "./usage/report.js";
export { Supervisor, type SupervisorOptions } from "./workers/supervisor.js";
export { startEmbeddedPostgres, type EmbeddedPostgres } from "./warehouse/embedded/embedded-postgres.js";
