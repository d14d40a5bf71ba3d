/** Exit codes of all commands. */
export const EXIT = { ok: 0, findings: 1, error: 2 } as const;

/** What a command leaves: an exit code, text for standard output, lines for standard error. */
export interface Outcome {
  readonly exit: (typeof EXIT)[keyof typeof EXIT];
  readonly output?: string;
  readonly errors?: readonly string[];
}
