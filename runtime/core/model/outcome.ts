/**
 * What a command or a reader made, or the problems that kept it from that, each a sentence for its user. Requests have
 * `Result` (errors.ts).
 */
export type Outcome<T> = { readonly ok: true; readonly value: T } | Failure;

export interface Failure {
  readonly ok: false;
  readonly problems: readonly string[];
}

export function succeeded<T>(value: T): { readonly ok: true; readonly value: T } {
  return { ok: true, value };
}

export function failed(...problems: readonly string[]): Failure {
  return { ok: false, problems };
}

/** A value, unless there are problems. */
export function unlessFailed<T>(problems: readonly string[], value: T): Outcome<T> {
  return problems.length > 0 ? failed(...problems) : succeeded(value);
}

/** Why something failed. A connection to a host with several addresses has failed once for each. */
export function messageOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(messageOf).join("; ");
  return error instanceof Error ? error.message : String(error);
}
