/** What a command or a reader made, or why it could not, as a sentence for its user. Requests have `Result` (errors.ts). */
export type Outcome<T> =
  { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: string };

export function succeeded<T>(value: T): Outcome<T> {
  return { ok: true, value };
}

export function failed(problem: string): { readonly ok: false; readonly problem: string } {
  return { ok: false, problem };
}

/** Why something failed. A connection to a host with several addresses has failed once for each. */
export function messageOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(messageOf).join("; ");
  return error instanceof Error ? error.message : String(error);
}
