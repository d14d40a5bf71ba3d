/** The ramp, composed with the embedded database, for the command line and the worker processes. */
import { startEmbeddedPostgres } from "./embedded/embedded-postgres.js";
import type { RunningServer } from "./server/listen.js";
import * as service from "./ramp/start-ramp.js";

export { readEnvironment } from "./operations/environment.js";
export { createLogger } from "./server/logger.js";
export { SANDBOX_PROVIDERS, startSandbox } from "./ramp/sandbox/sandbox-server.js";
export type { AdminSession, RampServiceOptions } from "./ramp/start-ramp.js";
export * from "./ramp/setup/integrations.js";
export { type ProjectSettings, updateProject } from "./ramp/setup/project-settings.js";
export * from "./ramp/setup/projects.js";
export { compareOrders } from "./ramp/setup/restored.js";
export { diagnose, listIntentSummaries, listStuckIntents, showIntent } from "./ramp/setup/diagnostics.js";
export * from "./ramp/setup/audit.js";
export { testProvider } from "./ramp/providers/provider-test.js";
export { csvOf, reconcile } from "./ramp/setup/finance.js";
export { listBalances, reportPostings } from "./ramp/setup/report.js";
export * from "./ramp/setup/intent-actions.js";
export * from "./ramp/setup/webhooks.js";
export { rotateVault } from "./ramp/vault.js";
export type { Outcome } from "./model/outcome.js";

const startEmbedded: service.StartEmbedded = startEmbeddedPostgres;

export function startRampService(options: service.RampServiceOptions): Promise<RunningServer> {
  return service.startRampService(options, startEmbedded);
}

export function openAdminSession(options: service.RampServiceOptions): Promise<service.AdminSession> {
  return service.openAdminSession(options, startEmbedded);
}
