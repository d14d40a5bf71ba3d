/** Which findings fail a run. On its own, so that the command line lists them without loading more. */
export const FAIL_ON = ["error", "warning", "any", "none"] as const;
export type FailOn = (typeof FAIL_ON)[number];
