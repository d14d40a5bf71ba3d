import { createServer, request } from "node:http";
import { clickhouseUrl } from "../support/clickhouse.js";
import { listen } from "../support/port.js";

/** Address of a role with a profile: what a query does not set itself has the profile's value. */
export async function roleOf(profile: () => Readonly<Record<string, string>>): Promise<string> {
  const { hostname, port, username, password } = new URL(clickhouseUrl());
  const server = createServer((incoming, reply) => {
    const target = new URL(incoming.url ?? "/", "http://role");
    for (const [name, value] of Object.entries(profile()))
      if (!target.searchParams.has(name)) target.searchParams.set(name, value);
    const { method, headers } = incoming;
    const outgoing = request({ hostname, port, method, headers, path: target.pathname + target.search });
    outgoing.on("response", (response) =>
      response.pipe(reply.writeHead(response.statusCode ?? 0, response.headers)),
    );
    incoming.pipe(outgoing.on("error", () => reply.destroy()));
    reply.on("close", () => outgoing.destroy());
  });
  return `clickhouse://${username}:${password}@${await listen(server)}/default`;
}
