import { AsyncLocalStorage } from "node:async_hooks";
import { afterAll, onTestFinished, TestRunner } from "vitest";

type Cleanup = () => void | Promise<void>;

/** The `onTestFinished` of a concurrent test's context. */
const concurrentTest = new AsyncLocalStorage<(clean: Cleanup) => void>();

/** Cleans up at the end of the test that this is called in, or, outside of one, at the end of the file. */
export function atEnd(clean: Cleanup): void {
  const test = TestRunner.getCurrentTest();
  const ofConcurrent = concurrentTest.getStore();
  if (ofConcurrent) ofConcurrent(clean);
  // Once the file is collected `afterAll` adds nothing.
  else if (test === undefined && TestRunner.getCurrentSuite().file.collectDuration !== undefined)
    throw new Error("Use what needs `atEnd` outside of `beforeAll`, or return its end from there.");
  else if (test === undefined) afterAll(clean);
  // The current test may then be another one.
  else if (test.concurrent === true)
    throw new Error("Run a concurrent test that needs `atEnd` in `withAtEnd`.");
  else onTestFinished(clean);
}

/** Runs a concurrent test with its context's `onTestFinished`, so that `atEnd` cleans up at its end. */
export function withAtEnd<T>(ofTest: (clean: Cleanup) => void, run: () => Promise<T>): Promise<T> {
  return concurrentTest.run(ofTest, run);
}
