/** One line that says why nothing was read and what to do. */
export interface Failure {
  readonly ok: false;
  readonly problem: string;
}

export function fail(problem: string): Failure {
  return { ok: false, problem };
}

export function tooLarge(shown: string, maxBytes: number): Failure {
  const megabytes = Math.round(maxBytes / 1024 / 1024);
  return fail(`${shown} is too large: at most ${String(megabytes)} MB are read.`);
}

/** How much of a source is read, and for how long. */
export interface SourceLimits {
  /** From the first byte asked for to the last one read, for an http(s) source. */
  readonly timeoutMs: number;
  readonly maxBytes: number;
}

/** A text and the place it is from, fit to be shown; or one line that says why there is none and what to do. */
export type Source = { readonly ok: true; readonly text: string; readonly shown: string } | Failure;
