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

const NAME = "localhost|127(?:\\.\\d{1,3}){3}|\\[::1\\]";
const LOOPBACK = new RegExp(`^(?:${NAME}|::1)$`, "i");
const LOOPBACK_HOST = new RegExp(`^(?:${NAME})(?::\\d+)?$`, "i");
const LOOPBACK_ORIGIN = new RegExp(`^https?://(?:${NAME})(?::\\d+)?$`, "i");

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

/**
 * The header of a request by which a page of another machine sends it; null where there is none. Browsers write both as they stand
 * here: two `URL`s for each request of this machine took 4 µs.
 */
export function foreignName({ host = "", origin }: IncomingMessage["headers"]): "Host" | "Origin" | null {
  if (!LOOPBACK_HOST.test(host)) return "Host";
  return origin === undefined || LOOPBACK_ORIGIN.test(origin) ? null : "Origin";
}

function hostOf(origin: string): string | null {
  return URL.canParse(origin) ? new URL(origin).host : null;
}
