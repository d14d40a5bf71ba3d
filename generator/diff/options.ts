/** What the command line offers. On its own, so that to list it loads nothing else. */

/** The forms of a report. */
export const FORMATS = ["text", "markdown", "json", "github"] as const;
export type Format = (typeof FORMATS)[number];

/** Which changes fail a run. */
export const FAIL_ON = ["breaking", "any", "none"] as const;
export type FailOn = (typeof FAIL_ON)[number];
