/** The step boundaries at which a crash is tried out. */
export const FAULT_POINTS = [
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

export type FaultPoint = (typeof FAULT_POINTS)[number];

let armed: FaultPoint | null = null;

/** Makes the process end like a crash (SIGKILL) when it next reaches the point. Called by tests only: no setting reaches it. */
export function arm(point: FaultPoint): void {
  armed = point;
}

/** Marks a step boundary. */
export function reach(point: FaultPoint): void {
  if (armed === point) process.kill(process.pid, "SIGKILL");
}
