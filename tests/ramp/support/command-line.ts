import { expect } from "vitest";
import { inProcess, type Printed } from "../../support/in-process.js";

/** Runs a command of `ramp` in this process. */
export function routewright(...argv: readonly string[]): Promise<Printed> {
  return inProcess(["ramp", ...argv]);
}

/** What a command prints as JSON. */
export async function json(...argv: readonly string[]): Promise<Record<string, string>> {
  const { exit, out, error } = await routewright(...argv, "--json");
  expect(exit, error).toBe(0);
  return JSON.parse(out) as Record<string, string>;
}
