import { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import { httpError, type HttpError, isHttpError, type Result } from "../model/errors.js";
import type { Documents } from "../pages/documents.js";
import type { Gateway } from "../handler/gateway.js";
import { type RequestContext, type HttpRoute, markCounted, serveRequest } from "../handler/serve-request.js";
import { authorize } from "../request/authorize.js";
import { complexityError } from "../request/request-fields.js";
import { NO_ROWS, type Sent } from "../response/respond.js";
import { markSummary } from "../handler/summary.js";
import { readBodyText } from "../response/send.js";
import { COMMON_HEADERS, NO_STORE, setHeaders } from "../http/headers.js";
import { answerMcp, type McpCaller } from "./mcp.js";
import type { QueryReply } from "./rows.js";

export const MCP_PATH = "/mcp";

/** Runs the handler of the endpoint at the request's path. */
type RunHandler = (request: IncomingMessage, response: ServerResponse) => void;

/** Serves `POST /mcp` (runtime/docs/mcp.md). */
export async function serveMcp(
  gateway: Gateway,
  documents: Documents,
  run: RunHandler,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const route: HttpRoute = {
    path: MCP_PATH,
    allowed: "POST, OPTIONS",
    // The first message of a body counts before the body is read.
    isLimited: true,
    handle: async (context) => {
      const message = await messageOf(context);
      if (message === null) return NO_ROWS;
      if (isHttpError(message)) return message;
      const error = await countBatch(gateway, request, message.json);
      return error ?? answerMessage(context, documents, run, message.json);
    },
  };
  await serveRequest(gateway, route, request, response);
}

/** Messages of one body at most. */
const MAX_BATCH = 20;

/** Counts the further messages of a batch; the error of one that is too long or over the limit. */
async function countBatch(
  gateway: Gateway,
  request: IncomingMessage,
  json: unknown,
): Promise<HttpError | null> {
  const messages = Array.isArray(json) ? json.length : 1;
  if (messages > MAX_BATCH) return httpError("batchTooLong", { max: MAX_BATCH });
  for (let i = 1; i < messages; i++) {
    const { error } = await authorize(gateway, request);
    if (error) return error;
  }
  return null;
}

async function answerMessage(
  { request, response, caller, headers }: RequestContext,
  documents: Documents,
  run: RunHandler,
  json: unknown,
): Promise<Sent> {
  setHeaders(response, [...headers, ...COMMON_HEADERS, ...NO_STORE]);
  const mcpCaller: McpCaller = {
    catalogue: documents.catalogue(caller).callable,
    search: () => documents.search(caller),
    query: (path, parameters, isSummary = false) => queryInProcess(run, request, path, parameters, isSummary),
  };
  await answerMcp(mcpCaller, request, response, json);
  return NO_ROWS;
}

/** The JSON message of the body; null when the client has disconnected. */
async function messageOf({
  request,
  caller,
}: RequestContext): Promise<Result<{ readonly json: unknown }> | null> {
  const text = await readBodyText(request, caller);
  if (typeof text !== "string") return text;
  const error = complexityError(text);
  if (error) return error;
  try {
    return { json: JSON.parse(text) as unknown };
  } catch {
    return httpError("bodyNotJson");
  }
}

/** Headers that identify the caller and the trace. */
const CALLER_HEADERS = ["x-api-key", "authorization", "x-forwarded-for", "x-request-id", "traceparent"];

/** Longer responses are cut: language models read far less. */
const MAX_BYTES = 256 * 1024;

/**
 * Runs an endpoint's own handler on behalf of a request, with its key and address: the same checks, log and
 * metrics as over the network. As an HTTP/1.0 response, so that the body is not chunked.
 */
function queryInProcess(
  run: RunHandler,
  outer: IncomingMessage,
  path: string,
  parameters: URLSearchParams,
  isSummary: boolean,
): Promise<QueryReply> {
  const socket = new CollectingSocket(outer.socket.remoteAddress);
  const request = new IncomingMessage(socket as unknown as Socket);
  const query = parameters.toString();
  Object.assign(request, { method: "GET", url: `${path}.ndjson${query === "" ? "" : `?${query}`}` });
  Object.assign(request, { httpVersion: "1.0", httpVersionMajor: 1, httpVersionMinor: 0 });
  for (const name of CALLER_HEADERS) request.headers[name] = outer.headers[name];
  request.push(null);
  // The message itself has been counted as one request.
  markCounted(request);
  if (isSummary) markSummary(request);
  const response = new ServerResponse(request);
  response.assignSocket(socket as unknown as Socket);
  return new Promise((resolve) => {
    response.once("finish", () => socket.destroy());
    socket.once("close", () => resolve(socket.reply(response.statusCode)));
    run(request, response);
  });
}

/** Collects a response in memory, up to a size. */
class CollectingSocket extends Duplex {
  readonly remoteAddress: string | undefined;
  readonly #chunks: Buffer[] = [];
  #bytes = 0;

  constructor(remoteAddress: string | undefined) {
    // No event `drain` is needed: a response listens only to the server's own sockets.
    super({ writableHighWaterMark: MAX_BYTES + 1 });
    this.remoteAddress = remoteAddress;
  }

  override _read(): void {
    // The request has no body.
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error) => void): void {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    if (this.#bytes > MAX_BYTES) this.destroy();
    done();
  }

  /** The response. The incomplete last line of a cut body is dropped. */
  reply(status: number): QueryReply {
    const text = Buffer.concat(this.#chunks).toString();
    const end = text.indexOf("\r\n\r\n");
    const [head, body] = [text.slice(0, end), text.slice(end + 4)];
    const isCut = this.#bytes > MAX_BYTES;
    return {
      status,
      body: isCut ? body.slice(0, body.lastIndexOf("\n")) : body,
      hasMore: isCut || /^link:.*rel="next"/im.test(head),
      nextCursor: isCut ? null : (/^link:.*[?&]cursor=([\w-]+).*rel="next"/im.exec(head)?.[1] ?? null),
    };
  }
}
