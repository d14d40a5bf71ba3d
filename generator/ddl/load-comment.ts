import type { BuildsAtLoad } from "@routewright/runtime/model";

/**
 * The builds of the source that a copy holds, as the comment of its relation. `loadedAt`: of a copy in several tables, which
 * have no identity in common.
 */
export function loadComment(builds: BuildsAtLoad | null, loadedAt?: string): string {
  return JSON.stringify({ routewright: builds === null ? {} : { builds, loadedAt } });
}

/** How the comment of every relation that was loaded begins. */
export const COMMENT_START = '{"routewright":';
