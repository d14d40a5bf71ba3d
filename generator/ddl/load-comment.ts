import type { BuildsAtLoad } from "@routewright/runtime/model";

/** The builds of the source that a copy holds, as the comment of its relation. */
export function loadComment(builds: BuildsAtLoad | null): string {
  return JSON.stringify({ routewright: builds === null ? {} : { builds } });
}

/** How the comment of every relation that was loaded begins. */
export const COMMENT_START = '{"routewright":';
