import { it } from "vitest";
import { withAtEnd } from "./at-end.js";

/** A test that waits, beside the others of its file that do. */
export function itBeside(name: string, test: () => Promise<void>): void {
  it.concurrent(name, ({ onTestFinished }) => withAtEnd(onTestFinished, test));
}

/** One for each row. */
export function eachBeside<Row>(rows: readonly Row[], name: string, test: (row: Row) => Promise<void>): void {
  it.concurrent.for([...rows])(name, (row, { onTestFinished }) => withAtEnd(onTestFinished, () => test(row)));
}
