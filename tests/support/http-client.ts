import {
  get,
  request,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type OutgoingHttpHeaders,
} from "node:http";
import { createConnection } from "node:net";
import { atEnd } from "./at-end.js";

export interface RequestOptions {
  readonly method?: string;
  readonly headers?: OutgoingHttpHeaders;
  /** Text as it is, bytes, or a value that is sent as JSON. */
  readonly body?: unknown;
  readonly key?: string;
}

export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** As they were sent, compressed or not. */
  readonly bytes: Buffer;
}

/** Sends one request exactly as given (`fetch` would tidy the target and the headers up) and reads the whole answer. */
export function sendRequest(base: string, target: string, question: RequestOptions = {}): Promise<Reply> {
  const { method = "GET", key, body } = question;
  const bytes = bytesOf(body);
  const headers: OutgoingHttpHeaders = { "content-length": bytes.length, ...question.headers };
  if (key !== undefined) headers["x-api-key"] = key;
  if (bytes.length === 0 || headers["transfer-encoding"] !== undefined) delete headers["content-length"];
  const { hostname, port } = new URL(base);
  return new Promise((resolve, reject) => {
    const outgoing = request({ hostname, port, path: target, method, headers, agent: false }, (incoming) => {
      const chunks: Buffer[] = [];
      incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
      incoming.on("error", reject);
      incoming.on("end", () => {
        const bytes = Buffer.concat(chunks);
        const { statusCode: status = 0, headers } = incoming;
        resolve({ status, headers, bytes, text: bytes.toString() });
      });
    });
    outgoing.on("error", reject);
    outgoing.end(bytes);
  });
}

/** The answer to a request as soon as its head is there; its body is left to the test. */
export function begin(
  url: string,
  key?: string,
  headers: OutgoingHttpHeaders = {},
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const sent = key === undefined ? headers : { "X-API-Key": key, ...headers };
    const request = get(url, { headers: sent, agent: false }, (response) => {
      response.on("error", () => undefined);
      resolve(response);
    });
    request.on("error", reject);
    atEnd(() => void request.destroy());
  });
}

function bytesOf(body: unknown): Buffer {
  if (body === undefined) return Buffer.alloc(0);
  return Buffer.isBuffer(body) ? body : Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
}

/** Posts a JSON body. */
export function post(
  base: string,
  target: string,
  body: unknown,
  question: RequestOptions = {},
): Promise<Reply> {
  const headers = { "content-type": "application/json", ...question.headers };
  return sendRequest(base, target, { ...question, method: "POST", body, headers });
}

/** What an answer says, for a comparison in one go. */
export function statusAndBody({ status, text }: Reply): readonly [status: number, body: unknown] {
  return [status, text === "" ? null : (JSON.parse(text) as unknown)];
}

/** The text of an answer without the line breaks between rows that ClickHouse writes. */
export function compact(text: string): string {
  return text.replaceAll(",\n{", ",{");
}

/** The answer that a refusal must be. */
export function refusal(status: number, detail: string): readonly [status: number, body: unknown] {
  return [status, { detail }];
}

/** The refusal of a query that needs more than the database gives it. */
export function tooLarge(need: string): ReturnType<typeof refusal> {
  return refusal(
    400,
    `This request needs more ${need} of the database than it may have. Ask for fewer groups, a shorter range, a narrower filter or a smaller page.`,
  );
}

/** Writes text to a socket and reads until the other side ends it. */
export function askRaw(base: string, text: string | Buffer): Promise<string> {
  const { hostname, port } = new URL(base);
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const socket = createConnection(Number(port), hostname, () => socket.write(text));
    socket.on("data", (chunk) => chunks.push(chunk));
    socket.on("error", reject);
    socket.on("close", () => {
      resolve(Buffer.concat(chunks).toString());
    });
  });
}
