import { Timer } from "@routewright/runtime/internal/core/model/timer.js";

/** The step boundaries at which tests crash the process. */
export const FAILPOINTS = [
  "request.recorded",
  "onboarding.answered",
  "onboarding.recorded",
  "execution.opened",
  "execution.answered",
  "execution.confirmed",
  "execution.withdrawn",
  "execution.recorded",
  "cancel.answered",
  "refund.answered",
  "deposits.answered",
  "deposits.recorded",
  "callback.received",
  "callback.recorded",
  "response.stored",
  "delivery.answered",
] as const;

export type Failpoint = (typeof FAILPOINTS)[number];

let armed: { readonly point: Failpoint; readonly gatherMs: number } | null = null;
let timer: Timer | undefined;

/**
 * Ends the process with SIGKILL when it reaches the point. With `gatherMs` everything that reaches the point within that time
 * of the first waits there and is lost together. Only tests call this: no setting reaches it.
 */
export function armFailpoint(point: Failpoint, gatherMs = 0): void {
  armed = { point, gatherMs };
}

/** Marks a step boundary. */
export function failpoint(point: Failpoint): Promise<never> | undefined {
  if (armed?.point !== point) return undefined;
  const kill = (): void => void process.kill(process.pid, "SIGKILL");
  if (armed.gatherMs === 0) kill();
  timer ??= new Timer(armed.gatherMs, kill);
  return new Promise(() => undefined);
}
