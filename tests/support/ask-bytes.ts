import type { OutgoingHttpHeaders } from "node:http";
import { type Reply, sendRequest } from "./http-client.js";

/** Reads an answer's bytes as they are sent, compressed or not. */
export function askBytes(base: string, target: string, headers: OutgoingHttpHeaders): Promise<Reply> {
  return sendRequest(base, target, { headers });
}
