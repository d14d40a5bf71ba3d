/** The servers, for the command line. */
export { KEY_PREFIX, hashOf } from "./auth/keyring.js";
export { readEnvironment, type Environment, type EnvironmentReading } from "./environment/environment.js";
export { startDataApi, type DataApiOptions } from "./start.js";
export type { RunningServer } from "./http/server.js";
