import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { SandboxClock } from "../../../runtime/ramp/sandbox/clock.js";

const DAY_MS = 24 * 60 * 60_000;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it("reaches 20,000 open deadlines, and those that they set, in their order", () => {
  const clock = new SandboxClock();
  const reached: number[] = [];
  for (let i = 0; i < 20_000; i++) {
    const after = (i * 7919) % 20_000;
    clock.after(after, () => {
      reached.push(after);
      clock.after(0.5, () => void reached.push(after + 0.5));
    });
  }
  clock.advance(30_000);
  expect(reached).toHaveLength(40_000);
  expect(reached).toEqual(reached.toSorted((one, other) => one - other));
});

it("does not reach a deadline in 30 days at once", () => {
  const clock = new SandboxClock();
  const act = vi.fn();
  clock.after(30 * DAY_MS, act);
  vi.advanceTimersByTime(DAY_MS);
  clock.advance(28 * DAY_MS);
  expect(act).not.toHaveBeenCalled();
  vi.advanceTimersByTime(DAY_MS - 1);
  expect(act).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  expect(act).toHaveBeenCalledTimes(1);
});

it("tells a deadline its own time, and those of the same time in the order in which they were set", () => {
  const clock = new SandboxClock();
  const reached: unknown[] = [];
  const start = clock.now().getTime();
  clock.after(2_000, () => void reached.push("b", clock.now().getTime() - start));
  clock.after(1_000, () => void reached.push("a", clock.now().getTime() - start));
  clock.after(2_000, () => void reached.push("c", clock.now().getTime() - start));
  clock.advance(5_000);
  expect(reached).toEqual(["a", 1_000, "b", 2_000, "c", 2_000]);
  expect(clock.now().getTime() - start).toBe(5_000);
});
