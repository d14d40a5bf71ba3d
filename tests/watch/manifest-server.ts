import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { listen } from "../support/port.js";

/** How the server answers; set it to misbehave. */
export type Behaviour = (request: IncomingMessage, response: ServerResponse) => void;

export interface ManifestServer {
  readonly url: string;
  behave(behaviour: Behaviour): void;
  /** `If-None-Match` of the requests so far. */
  readonly conditions: (string | undefined)[];
}

/** A real HTTP server for manifests, on a free port. */
export async function manifestServer(first: Behaviour): Promise<ManifestServer> {
  let current = first;
  const conditions: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    conditions.push(request.headers["if-none-match"]);
    current(request, response);
  });
  const host = await listen(server);
  return { url: `http://${host}/manifest.json`, behave: (next) => (current = next), conditions };
}

/** Answers with a manifest and an `ETag`, or 304 to a client that has it. */
export function serving(manifest: unknown, etag: string): Behaviour {
  return (request, response) => {
    if (request.headers["if-none-match"] === etag) {
      response.writeHead(304, { ETag: etag }).end();
      return;
    }
    response.writeHead(200, { "Content-Type": "application/json", ETag: etag }).end(JSON.stringify(manifest));
  };
}
