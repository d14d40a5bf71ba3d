import { afterAll, onTestFinished, TestRunner } from "vitest";

/** Cleans up at the end of the test that this is called in, or, outside of one, at the end of the file. */
export function atEnd(clean: () => void | Promise<void>): void {
  if (TestRunner.getCurrentTest() === undefined) afterAll(clean);
  else onTestFinished(clean);
}
