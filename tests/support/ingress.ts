/** Headers that a caller makes up, and what is in front of a service. */
import { createServer, type IncomingHttpHeaders, request } from "node:http";
import { listen } from "./port.js";

export const HOSTILE: readonly Readonly<Record<string, string>>[] = [
  { "x-forwarded-prefix": "/evil" },
  { "x-forwarded-prefix": "/evil/../..//evil.example" },
  { "x-forwarded-host": "evil.example" },
  { "x-forwarded-proto": "evil" },
  { "x-forwarded-for": "127.0.0.1" },
  { "x-forwarded-for": "127.0.0.1, evil" },
  { forwarded: 'for=127.0.0.1;host=evil.example;proto="evil"' },
  { host: "evil.example" },
  { "x-original-url": "/metrics", "x-rewrite-url": "/metrics", "x-forwarded-path": "/evil" },
  { "x-real-ip": "127.0.0.1", "true-client-ip": "127.0.0.1", "cf-connecting-ip": "127.0.0.1" },
];

/** The least that an ingress does (templates/docker/kubernetes): it appends the caller's address, and passes everything else on. */
export async function startIngress(upstream: string): Promise<{ readonly url: string }> {
  const { hostname, port } = new URL(upstream);
  const server = createServer((incoming, response) => {
    const known = incoming.headers["x-forwarded-for"];
    const headers: IncomingHttpHeaders = {
      ...incoming.headers,
      "x-forwarded-for": [known, "192.0.2.1"].filter((each) => each !== undefined).join(", "),
    };
    const { method, url: path } = incoming;
    incoming.pipe(
      request({ hostname, port, method, path, headers, agent: false }, (reply) => {
        response.writeHead(reply.statusCode ?? 502, reply.headers);
        reply.pipe(response);
      }),
    );
  });
  return { url: `http://${await listen(server)}` };
}
