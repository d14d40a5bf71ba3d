import http from "node:http";
import https from "node:https";
import { type LookupFunction, isIP } from "node:net";
import ipaddr from "ipaddr.js";
import { lookup as resolve } from "node:dns";
import { lookup as resolveAll } from "node:dns/promises";

/** A longer response body fails the request. */
const MAX_RESPONSE_BYTES = 256 * 1024;

/**
 * An idle connection is closed after this, before the other side does: servers wait 2 s and longer. What is sent while the other
 * side closes is lost, and counts as a failed attempt. Without it, Node ignores the time that a server announces.
 */
const IDLE_MS = 1500;

const OPTIONS = { keepAlive: true, maxSockets: 100, maxFreeSockets: 20, timeout: IDLE_MS };
const HTTP_AGENT = new http.Agent(OPTIONS);
const HTTPS_AGENT = new https.Agent(OPTIONS);

interface OutboundRequest {
  readonly url: URL;
  readonly method: "GET" | "POST";
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** For the whole exchange: name look-up, connection, request and response. */
  readonly timeoutMs: number;
  /** Resolves the host; an error ends the request. Default: the system's. */
  readonly lookup?: LookupFunction;
}

interface NotAnswered {
  readonly kind: "failed";
  readonly reason: string;
}

/** The outcome. Redirects are not followed: they are responses like any other. */
export type OutboundResult =
  { readonly kind: "answered"; readonly status: number; readonly body: string } | NotAnswered;

/** Sends a request to another server, and reads its response. Never rejects. */
export function sendRequest(request: OutboundRequest): Promise<OutboundResult> {
  return exchange(request, (response, end) => {
    readBody(response).then(
      (body) => end({ kind: "answered", status: response.statusCode ?? 0, body }),
      (error: unknown) => {
        response.destroy();
        end({ kind: "failed", reason: error instanceof Error ? error.message : "answer cut off" });
      },
    );
  });
}

/** The outcome where the head of a response is all that counts. */
export type NotificationResult =
  { readonly kind: "answered"; readonly status: number; readonly retryAfter: string | null } | NotAnswered;

/** Sends a request whose response counts by its head, whatever its body is, and whether it ends. Never rejects. */
export function sendNotification(request: OutboundRequest): Promise<NotificationResult> {
  return exchange(request, (response, end) => {
    const { statusCode: status = 0, headers } = response;
    end({ kind: "answered", status, retryAfter: headers["retry-after"] ?? null });
    // Read to its end, so that the connection can be used again; the time limit ends it too.
    readBody(response).catch(() => response.destroy());
  });
}

/** `read` gets the head of the response, and ends the exchange. */
function exchange<R>(
  request: OutboundRequest,
  read: (response: http.IncomingMessage, end: (result: R | NotAnswered) => void) => void,
): Promise<R | NotAnswered> {
  return new Promise((resolve) => {
    const outgoing = tryOpen(request);
    if (outgoing === null) return resolve({ kind: "failed", reason: "ERR_INVALID_URL" });
    const timer = setTimeout(() => outgoing.destroy(new Error("timeout")), request.timeoutMs);
    outgoing.on("error", (error: NodeJS.ErrnoException) =>
      resolve({ kind: "failed", reason: error.code ?? error.message }),
    );
    outgoing.on("close", () => clearTimeout(timer));
    // A 101 has neither a response nor an error.
    outgoing.on("upgrade", (_response, socket) => {
      socket.destroy();
      resolve({ kind: "failed", reason: "unexpected upgrade" });
    });
    outgoing.on("response", (response) => read(response, resolve));
    outgoing.end(request.body);
  });
}

/** Null where Node refuses the address, such as one whose user has `%` without two digits. */
function tryOpen(request: OutboundRequest): http.ClientRequest | null {
  try {
    return open(request);
  } catch {
    return null;
  }
}

function open({ url, method, headers, body, lookup }: OutboundRequest): http.ClientRequest {
  const secure = url.protocol === "https:";
  const length: Record<string, string> =
    method === "POST" ? { "content-length": String(Buffer.byteLength(body)) } : {};
  const options: http.RequestOptions = {
    method,
    headers: { ...headers, ...length },
    // A pooled connection may lead to an address that `lookup` has not checked.
    agent: lookup ? false : secure ? HTTPS_AGENT : HTTP_AGENT,
    ...(lookup ? { lookup } : {}),
  };
  return secure ? https.request(url, options) : http.request(url, options);
}

async function readBody(response: http.IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_RESPONSE_BYTES) throw new Error("answer too large");
    chunks.push(chunk);
  }
  return UTF8.decode(Buffer.concat(chunks));
}

/** Throws for bytes that are not UTF-8: replaced characters could change a name or an amount. */
const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Whether an IP address is one of the public internet; loopback, private, link-local and other special ones are not. */
export function isPublicAddress(address: string): boolean {
  return ipaddr.process(address).range() === "unicast";
}

/** Whether a URL's host is an IP address that is not public; names are checked when they are resolved. */
export function namesPrivateAddress(url: URL): boolean {
  const host = url.hostname.replace(/^\[|\]$/g, "");
  return isIP(host) !== 0 && !isPublicAddress(host);
}

/** Names of this machine, whether they resolve or not (RFC 6761 §6.3). */
const LOCAL_NAME = /(^|\.)localhost\.?$/;

/** Whether a URL's host is a private address, or a name with one among its addresses; null: the name does not resolve. */
export async function leadsToPrivateAddress(url: URL): Promise<boolean | null> {
  if (namesPrivateAddress(url) || LOCAL_NAME.test(url.hostname)) return true;
  const addresses = await resolveAll(url.hostname.replace(/^\[|\]$/g, ""), { all: true }).catch(() => null);
  return addresses && addresses.some(({ address }) => !isPublicAddress(address));
}

/**
 * Resolves names to public addresses only. A name with a private address among its addresses is refused. The connection goes
 * to the address that was checked, whatever the name resolves to later.
 */
export const publicLookup: LookupFunction = (hostname, options, callback) => {
  resolve(hostname, { ...options, all: true }, (error, addresses) => {
    if (error) return callback(error, "", 0);
    const allowed = addresses.filter(({ address }) => isPublicAddress(address));
    const [first] = allowed;
    if (first === undefined || allowed.length < addresses.length)
      return callback(Object.assign(new Error("private address"), { code: "EPRIVATE" }), "", 0);
    if (options.all) callback(null, allowed);
    else callback(null, first.address, first.family);
  });
};
