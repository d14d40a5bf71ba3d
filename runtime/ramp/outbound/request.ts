import http from "node:http";
import https from "node:https";
import type { LookupFunction } from "node:net";

/** Most that is read of an answer, in bytes. */
const MAX_ANSWER_BYTES = 256 * 1024;

const OPTIONS = { keepAlive: true, maxSockets: 100, maxFreeSockets: 20 };
const HTTP_AGENT = new http.Agent(OPTIONS);
const HTTPS_AGENT = new https.Agent(OPTIONS);

export interface OutboundRequest {
  readonly url: URL;
  readonly method: "GET" | "POST";
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** For everything: name, connection, sending, the whole answer. */
  readonly timeoutMs: number;
  /** Finds the address of the host; may refuse to. The system's own when left out. */
  readonly lookup?: LookupFunction;
}

/** What came of it; a redirect is an answer like any other and is not followed. */
export type OutboundResult =
  | { readonly kind: "answered"; readonly status: number; readonly body: string }
  | { readonly kind: "failed"; readonly reason: string };

/** Sends a request to another server. Never rejects. */
export function send(request: OutboundRequest): Promise<OutboundResult> {
  return new Promise((resolve) => {
    const fail = (reason: string): void => resolve({ kind: "failed", reason });
    const outgoing = open(request);
    const timer = setTimeout(() => outgoing.destroy(new Error("timeout")), request.timeoutMs);
    outgoing.on("error", (error: NodeJS.ErrnoException) => fail(error.code ?? error.message));
    outgoing.on("close", () => clearTimeout(timer));
    outgoing.on("response", (response) => {
      collect(response).then(
        (body) => resolve({ kind: "answered", status: response.statusCode ?? 0, body }),
        (error: unknown) => {
          outgoing.destroy();
          fail(error instanceof Error ? error.message : "answer cut off");
        },
      );
    });
    outgoing.end(request.body);
  });
}

function open({ url, method, headers, body, lookup }: OutboundRequest): http.ClientRequest {
  const secure = url.protocol === "https:";
  const length: Record<string, string> =
    method === "POST" ? { "content-length": String(Buffer.byteLength(body)) } : {};
  const options: http.RequestOptions = {
    method,
    headers: { ...headers, ...length },
    // A connection made past the check must not be used by a request that is under it: no pool then.
    agent: lookup ? false : secure ? HTTPS_AGENT : HTTP_AGENT,
    ...(lookup ? { lookup } : {}),
  };
  return secure ? https.request(url, options) : http.request(url, options);
}

async function collect(response: http.IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_ANSWER_BYTES) throw new Error("answer too large");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
