import type { IncomingMessage } from "node:http";

/** Where a server is reached, and whose pages may call it. */
export interface OriginSettings {
  /** The address that the server listens on. */
  readonly host: string;
  readonly publicUrl: string | null;
  readonly corsOrigins: ReadonlySet<string> | null;
  /** Set where `TRUST_PROXY` is. */
  readonly addressOf: { readonly isTrustedProxy?: unknown };
}

/** The header that names another host than this machine, or a page that may not call. */
export type OriginProblem = "Host" | "Origin" | "foreign origin";

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\]|::1)$/i;

/**
 * Whether a page that is not allowed to call this server sends a request. On a loopback address without a proxy only names of this
 * machine are: a page of another host whose name resolves to 127.0.0.1 (DNS rebinding) would else read what its visitor may.
 */
export function originProblem(
  { host, publicUrl, corsOrigins, addressOf }: OriginSettings,
  { headers }: Pick<IncomingMessage, "headers">,
): OriginProblem | null {
  const { origin } = headers;
  if (LOOPBACK.test(host) && publicUrl === null && addressOf.isTrustedProxy === undefined)
    return foreignName(headers);
  if (origin === undefined || corsOrigins === null || corsOrigins.has(origin)) return null;
  const own = publicUrl === null ? null : new URL(publicUrl).origin;
  const isOwn = own === null ? hostOf(origin) === headers.host : origin === own;
  return isOwn ? null : "foreign origin";
}

/** The header of a request by which a page of another machine sends it; null where there is none. */
export function foreignName({ host = "", origin }: IncomingMessage["headers"]): "Host" | "Origin" | null {
  if (!isLoopbackName(`http://${host}`)) return "Host";
  return origin === undefined || isLoopbackName(origin) ? null : "Origin";
}

function isLoopbackName(address: string): boolean {
  return URL.canParse(address) && LOOPBACK.test(new URL(address).hostname);
}

function hostOf(origin: string): string | null {
  return URL.canParse(origin) ? new URL(origin).host : null;
}
