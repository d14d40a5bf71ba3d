import { ERRORS, type ErrorCode } from "./error-table.js";

type Placeholders<T extends string> = T extends `${string}{${infer Name}}${infer Rest}`
  ? Name | Placeholders<Rest>
  : never;
type Values<C extends ErrorCode> = Record<Placeholders<(typeof ERRORS)[C]["detail"]>, string | number>;

/** An error response. Expected, so it is returned and never thrown. */
export interface HttpError {
  readonly code: ErrorCode;
  readonly status: number;
  readonly detail: string;
  /** The parameter or field that it is about, for the log; null where there is none. Never a value. */
  readonly parameter: string | null;
  /** Seconds to wait before a retry, also sent as `Retry-After`; null when a retry does not help. */
  readonly retryAfter: number | null;
}

/** A value, or the error with which the request is refused. Faults are thrown. */
export type Result<T> = T | HttpError;

export function isHttpError(result: unknown): result is HttpError {
  return typeof result === "object" && result !== null && "code" in result && "retryAfter" in result;
}

/** Creates an error of the table, with a value for each placeholder of its text. */
export function httpError<C extends ErrorCode>(
  code: C,
  ...[fill]: [keyof Values<C>] extends [never] ? [] : [Values<C>]
): HttpError {
  const { status, detail } = ERRORS[code];
  const values: Readonly<Record<string, string | number>> = fill ?? {};
  const text = detail.replace(/\{(\w+)\}/g, (_, name: string) => String(values[name]));
  const parameter = values["name"] ?? values["field"] ?? null;
  const retryAfter = detail.includes("{n}") ? Number(values["n"]) : null;
  return { code, status, detail: text, parameter: parameter === null ? null : String(parameter), retryAfter };
}
