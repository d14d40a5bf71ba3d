import { STATUS_CODES } from "node:http";
import type { Socket } from "node:net";

/** What an answer says to a caller of whom only the connection is known, as flat name and value pairs. */
export type EarlyErrorHeaders = (socket: Socket) => Promise<readonly string[]>;

/** Seconds after which a caller may try a full server again. */
const FULL_RETRY_SECONDS = 1;

/**
 * The answer to what is not HTTP, or comes too late, and so never becomes a request: in the form that all errors have, whole
 * with its head. The connection ends with it.
 */
export async function earlyError(
  status: number,
  socket: Socket,
  headersOf: EarlyErrorHeaders,
): Promise<string> {
  const reason = STATUS_CODES[status] ?? "Bad Request";
  const body = JSON.stringify({ detail: reason });
  const headers = [
    ...(await headersOf(socket).catch(() => [])),
    ...(status === 503 ? ["Retry-After", String(FULL_RETRY_SECONDS)] : []),
    ...["Content-Type", "application/json; charset=utf-8"],
    ...["Content-Length", String(body.length), "Connection", "close"],
  ];
  const lines = headers.flatMap((name, i) => (i % 2 === 0 ? `${name}: ${headers[i + 1] ?? ""}` : []));
  return `HTTP/1.1 ${String(status)} ${reason}\r\n${lines.join("\r\n")}\r\n\r\n${body}`;
}
