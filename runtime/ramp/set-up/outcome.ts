/** What a set-up command made, or the plain reason why it made nothing. */
export type SetUp<T> =
  { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: string };

export function done<T>(value: T): SetUp<T> {
  return { ok: true, value };
}

export function problem(text: string): { readonly ok: false; readonly problem: string } {
  return { ok: false, problem: text };
}
