import { PRIVATE } from "./public-names.js";

/** What the last attempt at a receiver says of it, in words, by its result: the HTTP status, or why there was none (runtime/ramp/docs/webhooks.md). */
export const RESULTS = [
  { result: "2xx", pattern: /^2\d\d$/, words: null },
  {
    result: "3xx",
    pattern: /^3\d\d$/,
    words: "it redirects, and redirects are not followed",
  },
  { result: "4xx", pattern: /^[14]\d\d$/, words: "it refuses the events" },
  { result: "5xx", pattern: /^[5-9]\d\d$/, words: "it fails" },
  { result: "ECONNREFUSED", pattern: /^ECONNREFUSED$/, words: "it refuses connections" },
  {
    result: "timeout",
    pattern: /^(timeout|ETIMEDOUT|ESOCKETTIMEDOUT)$/,
    words: "it does not answer in time",
  },
  { result: "ENOTFOUND", pattern: /^ENOTFOUND$/, words: "its name is not found" },
  {
    result: "EAI_AGAIN",
    pattern: /^(EAI_\w+|ESERVFAIL|EREFUSED|ECANCELLED|ENODATA|ETIMEOUT|EBADRESP|EFORMERR)$/,
    words: "its name cannot be looked up: the name server does not answer",
  },
  {
    result: "EHOSTUNREACH",
    pattern: /^E(HOST|NET)(UNREACH|DOWN)$|^EADDRNOTAVAIL$/,
    words: "there is no way to its address",
  },
  {
    result: "ECONNRESET",
    pattern: /^(ECONNRESET|ECONNABORTED|EPIPE|socket hang up)$/,
    words: "it ends the connection without an answer",
  },
  {
    result: "CERT_HAS_EXPIRED",
    pattern:
      /CERT|^EPROTO$|^ERR_(SSL|TLS)_|^UNABLE_TO_|_SIGNATURE_FAILURE$|^(INVALID_PURPOSE|HOSTNAME_MISMATCH)$/,
    words: "TLS fails, such as by its certificate",
  },
  {
    result: "HPE_INVALID_CONSTANT",
    pattern: /^HPE_|^unexpected (upgrade|interim responses)$|^Parse Error/,
    words: "its answer is not HTTP",
  },
  { result: "EPRIVATE", pattern: new RegExp(`^${PRIVATE}$`), words: "it leads to a private address" },
  { result: "other", pattern: /^/, words: "the attempt fails" },
] as const;

/** What is wrong with a receiver by its last result, or null. */
export function problemOf(lastResult: string): string | null {
  const words = RESULTS.find(({ pattern }) => pattern.test(lastResult))?.words ?? null;
  return words === null ? null : `${words} (${lastResult})`;
}
