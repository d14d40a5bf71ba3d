/** What the command line offers. On its own, so that to list it loads nothing else. */

/** Which changes fail a run. */
export const FAIL_ON = ["breaking", "any", "none"] as const;
export type FailOn = (typeof FAIL_ON)[number];
