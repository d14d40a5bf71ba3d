import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Interval, signalAfter, sleep, Timer } from "../../../runtime/core/model/timer.js";

const DAY_MS = 24 * 60 * 60_000;

/** Fake timers end too long times at once, as Node's do. */
describe("a timer of 30 days", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("ends after 30 days, not at once", async () => {
    const ended: string[] = [];
    new Timer(30 * DAY_MS, () => void ended.push("timer"));
    new Timer(30 * DAY_MS, () => void ended.push("stopped")).stop();
    void sleep(30 * DAY_MS).then(() => ended.push("sleep"));
    const signal = signalAfter(30 * DAY_MS);
    await vi.advanceTimersByTimeAsync(30 * DAY_MS - 1);
    expect([ended, signal.aborted]).toEqual([[], false]);
    await vi.advanceTimersByTimeAsync(1);
    expect(ended.sort()).toEqual(["sleep", "timer"]);
    // Once what has come meanwhile is read.
    await vi.advanceTimersByTimeAsync(1_000);
    expect((signal.reason as Error).name).toBe("TimeoutError");
  });

  it("can be stopped after the first 24.8 days", async () => {
    const act = vi.fn();
    const timer = new Timer(60 * DAY_MS, act).unref();
    await vi.advanceTimersByTimeAsync(40 * DAY_MS);
    timer.stop();
    await vi.advanceTimersByTimeAsync(40 * DAY_MS);
    expect(act).not.toHaveBeenCalled();
    expect(vi.getTimerCount()).toBe(0);
  });

  it("repeats every 30 days until it is stopped", async () => {
    const act = vi.fn();
    const interval = new Interval(30 * DAY_MS, act).unref();
    await vi.advanceTimersByTimeAsync(95 * DAY_MS);
    interval.stop();
    await vi.advanceTimersByTimeAsync(95 * DAY_MS);
    expect(act).toHaveBeenCalledTimes(3);
  });

  it("that is waited for ends with its signal", async () => {
    const controller = new AbortController();
    const waiting = sleep(30 * DAY_MS, controller.signal);
    controller.abort(new Error("stopped"));
    await expect(waiting).rejects.toThrow("stopped");
    await expect(sleep(1, controller.signal)).rejects.toThrow("stopped");
    expect(vi.getTimerCount()).toBe(0);
  });
});
