/** The forms of a report. On its own, so that the command line lists them without loading more. */
export const FORMATS = ["text", "markdown", "json", "github"] as const;
export type Format = (typeof FORMATS)[number];
