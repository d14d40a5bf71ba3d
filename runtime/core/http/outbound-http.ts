import http from "node:http";
import https from "node:https";
import type { LookupFunction } from "node:net";
import { systemLookup } from "./name-lookup.js";
import { Timer } from "../model/timer.js";

/** A longer response body fails the request. */
const MAX_RESPONSE_BYTES = 256 * 1024;

/** A chunk counts as so many at least: 256 KiB of chunks of one byte took 0.4 s of a processor, and ten receivers that sent them held a process. */
const LEAST_CHUNK_BYTES = 32;

/**
 * An idle connection is closed after this, before the other side does: servers wait 2 s and longer. What is sent while the other
 * side closes is lost, and counts as a failed attempt. Without it, Node ignores the time that a server announces.
 */
const IDLE_MS = 1500;

const OPTIONS = { keepAlive: true, maxSockets: 100, maxFreeSockets: 100, timeout: IDLE_MS };
const HTTP_AGENT = new http.Agent(OPTIONS);
const HTTPS_AGENT = new https.Agent(OPTIONS);

/**
 * The longest name that DNS has. One of more than 255 characters leaves an error in OpenSSL that makes Node refuse the next private key which the
 * process reads: a webhook of one tenant was a 500 for another.
 */
export const LONGEST_HOST = 253;

interface OutboundRequest {
  readonly url: URL;
  readonly method: "GET" | "POST";
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** For the whole exchange: name look-up, connection, request and response. */
  readonly timeoutMs: number;
  /** Resolves a host that a tenant chose (webhooks/public-names.ts); an error ends the request. Default: the operator chose it. */
  readonly lookup?: LookupFunction;
}

interface NotAnswered {
  readonly kind: "failed";
  readonly reason: string;
}

/**
 * Heads before that of the response. A server that sends them without end holds the process: it reads them as fast as they come, and does nothing
 * else until the time limit.
 */
const MOST_INTERIM = 20;

/** The outcome. Redirects are not followed: they are responses like any other. */
export type OutboundResult =
  | { readonly kind: "answered"; readonly status: number; readonly body: string }
  /** Its body is too large, or not UTF-8. */
  | { readonly kind: "unreadable"; readonly status: number; readonly reason: string }
  | NotAnswered;

/** Sends a request to another server, and reads its response. Never rejects. */
export function sendRequest(request: OutboundRequest): Promise<OutboundResult> {
  return exchange(request, (response, end) => {
    readBody(response).then(
      (body) => end({ kind: "answered", status: response.statusCode ?? 0, body }),
      (error: unknown) => {
        response.destroy();
        const reason = error instanceof Error ? error.message : "answer cut off";
        const isUnreadable = error instanceof Unreadable || error instanceof TypeError;
        end(
          isUnreadable
            ? { kind: "unreadable", status: response.statusCode ?? 0, reason }
            : { kind: "failed", reason },
        );
      },
    );
  });
}

/** The outcome where the head of a response is all that counts. */
export type NotificationResult =
  { readonly kind: "answered"; readonly status: number; readonly retryAfter: string | null } | NotAnswered;

/**
 * Sends a request whose response counts by its head, whatever its body is, and whether it ends. Resolves with the end of the response, so
 * that a bound of requests is one of connections. Never rejects.
 */
export async function sendNotification(request: OutboundRequest): Promise<NotificationResult> {
  const heads: NotificationResult[] = [];
  const result = await exchange<NotificationResult>(request, (response, end) => {
    const { statusCode: status = 0, headers } = response;
    const head = { kind: "answered", status, retryAfter: headers["retry-after"] ?? null } as const;
    heads.push(head);
    // Read to its end, so that the connection can be used again; the time limit ends it too.
    void readBody(response)
      .catch(() => response.destroy())
      .then(() => end(head));
  });
  // The limit can end a response whose head has come.
  return heads[0] ?? result;
}

/** `read` gets the head of the response, and ends the exchange. */
function exchange<R>(
  request: OutboundRequest,
  read: (response: http.IncomingMessage, end: (result: R | NotAnswered) => void) => void,
): Promise<R | NotAnswered> {
  return new Promise((resolve) => {
    const outgoing = tryOpen(request);
    if (outgoing === null) return resolve({ kind: "failed", reason: "ERR_INVALID_URL" });
    const timer = new Timer(request.timeoutMs, () => void outgoing.destroy(new Error("timeout")));
    outgoing.on("error", (error: NodeJS.ErrnoException) =>
      resolve({ kind: "failed", reason: error.code ?? error.message }),
    );
    outgoing.on("close", () => timer.stop());
    // A 101 has neither a response nor an error.
    outgoing.on("upgrade", (_response, socket) => {
      socket.destroy();
      resolve({ kind: "failed", reason: "unexpected upgrade" });
    });
    let interim = 0;
    outgoing.on("information", () => {
      if (++interim > MOST_INTERIM) outgoing.destroy(new Error("unexpected interim responses"));
    });
    outgoing.on("response", (response) => read(response, resolve));
    outgoing.end(request.body);
  });
}

/** Null where the host is too long, or Node refuses the address, such as one whose user has `%` without two digits. */
function tryOpen(request: OutboundRequest): http.ClientRequest | null {
  if (request.url.hostname.length > LONGEST_HOST) return null;
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
    lookup: lookup ?? systemLookup,
  };
  return secure ? https.request(url, options) : http.request(url, options);
}

class Unreadable extends Error {}

function readBody(response: http.IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  return new Promise<Buffer>((resolve, reject) => {
    response
      .on("data", (chunk: Buffer) => {
        // The others of the same packet still come.
        if (response.destroyed) return;
        size += Math.max(chunk.length, LEAST_CHUNK_BYTES);
        chunks.push(chunk);
        if (size <= MAX_RESPONSE_BYTES) return;
        reject(new Unreadable("answer too large"));
        response.destroy();
      })
      .on("error", reject)
      .on("end", () => resolve(Buffer.concat(chunks)));
  }).then((bytes) => UTF8.decode(bytes));
}

/** Throws a `TypeError` for bytes that are not UTF-8: replaced characters could change a name or an amount. */
const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
