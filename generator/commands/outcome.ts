/** Exit codes of all commands. */
export const EXIT = { ok: 0, findings: 1, error: 2 } as const;

/** What a command leaves. */
export interface Outcome {
  readonly exit: (typeof EXIT)[keyof typeof EXIT];
  /** For standard output. */
  readonly output?: string;
  /** Lines for standard error, where they don't get in a script's way. */
  readonly notes?: readonly string[];
  /** Lines for standard error that tell why nothing was done. */
  readonly errors?: readonly string[];
}
