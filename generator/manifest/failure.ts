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
