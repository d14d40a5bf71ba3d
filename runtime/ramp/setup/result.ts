import { isHttpUrl } from "../json-schema.js";

/** The result of a set-up command, or why it failed. */
export type SetupResult<T> =
  { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: string };

export function succeeded<T>(value: T): SetupResult<T> {
  return { ok: true, value };
}

export function failed(problem: string): { readonly ok: false; readonly problem: string } {
  return { ok: false, problem };
}

/** What is wrong with the address of a server, or null. */
export function urlProblem(url: string): string | null {
  return isHttpUrl(url) ? null : "The URL must be an http:// or https:// address without credentials.";
}
