/** The step boundaries at which a crash is tried out. */
export const FAILPOINTS = [
  "request.recorded",
  "onboarding.answered",
  "onboarding.recorded",
  "execution.opened",
  "execution.answered",
  "execution.recorded",
  "callback.received",
  "callback.recorded",
  "response.stored",
  "delivery.answered",
] as const;

export type Failpoint = (typeof FAILPOINTS)[number];

let armed: Failpoint | null = null;

/** Makes the process end like a crash (SIGKILL) when it next reaches the point. Called by tests only: no setting reaches it. */
export function armFailpoint(point: Failpoint): void {
  armed = point;
}

/** Marks a step boundary. */
export function failpoint(point: Failpoint): void {
  if (armed === point) process.kill(process.pid, "SIGKILL");
}
