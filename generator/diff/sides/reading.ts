import type { Snapshot } from "../snapshot.js";

/** A side that was read, or everything that stands in the way, each with what to do. */
export type SideReading =
  | { readonly ok: true; readonly snapshot: Snapshot }
  | { readonly ok: false; readonly problems: readonly string[] };

export function failed(problem: string): SideReading {
  return { ok: false, problems: [problem] };
}
