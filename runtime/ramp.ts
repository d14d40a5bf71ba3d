/** The ramp, for the command line. */
export { readEnvironment } from "./environment/environment.js";
export { openLog } from "./http/logger.js";
export { SANDBOX_PROVIDERS, startSandbox } from "./ramp/sandbox/server.js";
export { openSetUp, type SetUpDesk, startRampService, type RampServiceOptions } from "./ramp/service.js";
export * from "./ramp/set-up/connections.js";
export * from "./ramp/set-up/keys.js";
export type { SetUp } from "./ramp/set-up/outcome.js";
export * from "./ramp/set-up/projects.js";
