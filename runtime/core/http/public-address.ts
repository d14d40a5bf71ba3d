import type { ClientAddress, RequestSource } from "./headers.js";

/** Where clients reach the service. */
export interface PublicAddress {
  /** `https://data.example.com`; null where `PUBLIC_URL` does not say it. */
  readonly origin: string | null;
  /** The path below which a proxy serves it, such as `/data`; empty at the root. */
  readonly prefix: string;
}

export interface PublicAddressOf {
  (request: RequestSource): PublicAddress;
  /** Whether the prefix depends on the request. */
  readonly isPrefixForwarded: boolean;
  /**
   * What addresses in documents begin with; null where the prefix comes with the request: there they are relative to the document. With
   * the prefix in them a document was rendered for each that a caller made up.
   */
  readonly base: string | null;
}

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
    return Object.assign(() => address, { isPrefixForwarded: false, base: origin + address.prefix });
  }
  const { isTrustedProxy } = addressOf;
  if (isTrustedProxy === undefined) return Object.assign(() => ROOT, { isPrefixForwarded: false, base: "" });
  const forwarded = (request: RequestSource): PublicAddress => {
    const prefix = request.headers["x-forwarded-prefix"];
    if (typeof prefix !== "string" || !isTrustedProxy(request)) return ROOT;
    const path = prefix.replace(/\/$/, "");
    return PREFIX.test(path) ? { origin: null, prefix: path } : ROOT;
  };
  return Object.assign(forwarded, { isPrefixForwarded: true, base: null });
}
