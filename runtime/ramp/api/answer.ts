/** A whole answer; the body is JSON unless the type says otherwise. */
export interface Answer {
  readonly status: number;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export function json(status: number, value: unknown, headers: Readonly<Record<string, string>> = {}): Answer {
  return { status, body: JSON.stringify(value), headers };
}
