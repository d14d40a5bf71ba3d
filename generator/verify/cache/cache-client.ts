import { randomUUID } from "node:crypto";
import { request as httpRequest, type IncomingHttpHeaders } from "node:http";
import { request as httpsRequest } from "node:https";
import { sleep } from "@routewright/runtime/model";
import type { Attempt, Lines } from "./poisoning-attempts.js";

export interface CacheReply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** Whether it shows the id of this very request: no copy does. */
  readonly isFresh: boolean;
}

const TIMEOUT_MS = 30_000;

/** Longest wait for the end of a rate limit's window. */
const MAX_WAIT_SECONDS = 61;

/** Sends one request exactly as given: `fetch` joins the lines of a header. Waits where the rate limit is used up. */
export async function ask(base: string, target: string, attempt: Attempt): Promise<CacheReply> {
  const reply = await send(base, target, attempt);
  const seconds = Number(reply.headers["retry-after"]);
  if (reply.status !== 429 || !(seconds <= MAX_WAIT_SECONDS)) return reply;
  await sleep(seconds * 1000);
  return send(base, target, attempt);
}

function send(base: string, target: string, { method = "GET", headers, body }: Attempt): Promise<CacheReply> {
  const address = new URL(base.replace(/\/+$/, "") + target);
  const request = address.protocol === "https:" ? httpsRequest : httpRequest;
  const id = randomUUID();
  const all: Lines = {
    "x-request-id": id,
    "accept-encoding": "identity",
    ...headers,
    ...(body !== undefined && { "content-length": Buffer.byteLength(body) }),
  };
  return new Promise((resolve, reject) => {
    const outgoing = request(
      address,
      { method, headers: all, agent: false, timeout: TIMEOUT_MS },
      (incoming) => {
        const chunks: Buffer[] = [];
        incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
        incoming.on("error", reject);
        incoming.on("end", () =>
          resolve({
            status: incoming.statusCode ?? 0,
            headers: incoming.headers,
            text: Buffer.concat(chunks).toString(),
            isFresh: incoming.headers["x-request-id"] === id,
          }),
        );
      },
    );
    outgoing.on("timeout", () => outgoing.destroy(new Error("no answer within 30 s")));
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}
