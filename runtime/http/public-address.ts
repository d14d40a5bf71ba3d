import type { ClientAddress, Origin } from "./headers.js";

/** Where clients reach the service. */
export interface PublicAddress {
  /** `https://data.example.com`; null where `PUBLIC_URL` does not say it. */
  readonly origin: string | null;
  /** The path below which a proxy serves it, such as `/data`; empty at the root. */
  readonly prefix: string;
}

export type PublicAddressOf = (request: Origin) => PublicAddress;

const ROOT: PublicAddress = { origin: null, prefix: "" };

/** Segments of letters, digits and `-._~`, none of them `.` or `..`: nothing in it can leave a header, a link or the path. */
const PREFIX = /^(?:\/(?!\.{1,2}(?:\/|$))[\w.~-]{1,100}){1,10}$/;

/**
 * `PUBLIC_URL`, else the `X-Forwarded-Prefix` of a proxy that `TRUST_PROXY` names; others could put their own links into
 * responses.
 */
export function publicAddressReader(publicUrl: string | null, addressOf: ClientAddress): PublicAddressOf {
  if (publicUrl !== null) {
    const { origin, pathname } = new URL(publicUrl);
    const address = { origin, prefix: pathname.replace(/\/+$/, "") };
    return () => address;
  }
  const { isTrustedProxy } = addressOf;
  if (isTrustedProxy === undefined) return () => ROOT;
  return (request) => {
    const prefix = request.headers["x-forwarded-prefix"];
    if (typeof prefix !== "string" || !isTrustedProxy(request)) return ROOT;
    const path = prefix.replace(/\/$/, "");
    return PREFIX.test(path) ? { origin: null, prefix: path } : ROOT;
  };
}
