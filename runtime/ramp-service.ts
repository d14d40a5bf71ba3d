/** The ramp, composed with the embedded database, for the command line and the worker processes. */
import { startEmbeddedPostgres } from "./embedded/embedded-postgres.js";
import type { RunningServer } from "./server/listen.js";
import * as service from "./ramp/start-ramp.js";

export { readEnvironment } from "./operations/environment.js";
export { createLogger } from "./server/logger.js";
export { SANDBOX_PROVIDERS, startSandbox } from "./ramp/sandbox/sandbox-server.js";
export type { AdminSession, RampServiceOptions } from "./ramp/start-ramp.js";
export * from "./ramp/operator/integrations.js";
export { type ProjectSettings, updateProject } from "./ramp/operator/project-settings.js";
export * from "./ramp/operator/projects.js";
export { compareOrders } from "./ramp/operator/restored.js";
export { diagnose, listIntentSummaries, listStuckIntents, showIntent } from "./ramp/operator/diagnostics.js";
export * from "./ramp/core/audit.js";
export { testProvider } from "./ramp/providers/provider-test.js";
export { csvOf, reconcile } from "./ramp/operator/finance.js";
export { listBalances, reportPostings } from "./ramp/operator/report.js";
export * from "./ramp/operator/intent-actions.js";
export * from "./ramp/operator/webhooks.js";
export { rotateVault } from "./ramp/core/vault.js";
export type { Outcome } from "./model/outcome.js";

const startEmbedded: service.StartEmbedded = startEmbeddedPostgres;

export function startRampService(options: service.RampServiceOptions): Promise<RunningServer> {
  return service.startRampService(options, startEmbedded);
}

export function openAdminSession(options: service.RampServiceOptions): Promise<service.AdminSession> {
  return service.openAdminSession(options, startEmbedded);
}
