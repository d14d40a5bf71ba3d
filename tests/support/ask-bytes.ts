import { get, type IncomingHttpHeaders, type OutgoingHttpHeaders } from "node:http";

/** Reads an answer's bytes as they are sent, compressed or not. */
export function askBytes(
  base: string,
  target: string,
  headers: OutgoingHttpHeaders,
): Promise<{ readonly status: number; readonly headers: IncomingHttpHeaders; readonly bytes: Buffer }> {
  return new Promise((resolve, reject) => {
    const outgoing = get(`${base}${target}`, { headers, agent: false }, (incoming) => {
      const chunks: Buffer[] = [];
      incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
      incoming.on("error", reject);
      incoming.on("end", () =>
        resolve({
          status: incoming.statusCode ?? 0,
          headers: incoming.headers,
          bytes: Buffer.concat(chunks),
        }),
      );
    });
    outgoing.on("error", reject);
  });
}
