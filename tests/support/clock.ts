import { vi } from "vitest";
import { atEnd } from "./at-end.js";

/** Sets the clock of the machine back, as NTP does. It then stands still; timers and `performance.now()` go on. */
export function setClockBack(milliseconds: number): void {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() - milliseconds });
  atEnd(() => void vi.useRealTimers());
}

/** Holds the time by `performance.now()` still: what waits reaches no limit. Timers go on. */
export function holdTime(): void {
  const clock = vi.spyOn(performance, "now").mockReturnValue(now());
  atEnd(() => clock.mockRestore());
}

const now = performance.now.bind(performance);
let passed = 0;

/** Lets time pass at once by `performance.now()`; timers do not end sooner. */
export function letPass(milliseconds: number): void {
  passed += milliseconds;
  const clock = vi.spyOn(performance, "now").mockImplementation(() => now() + passed);
  atEnd(() => {
    passed = 0;
    clock.mockRestore();
  });
}
