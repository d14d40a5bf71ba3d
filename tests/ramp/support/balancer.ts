import { connect, createServer } from "node:net";
import { atEnd } from "../../support/at-end.js";
import { listening } from "./server.js";

export interface Balancer {
  readonly url: string;
  /** Where connections go in turn. */
  targets: readonly string[];
}

/** Gives each new connection to the next of several servers. */
export async function ownBalancer(): Promise<Balancer> {
  let next = 0;
  const server = createServer((client) => {
    const target = new URL(balancer.targets[next++ % balancer.targets.length] ?? "http://127.0.0.1:1");
    const upstream = connect(Number(target.port), target.hostname);
    client.pipe(upstream).pipe(client);
    client.on("error", () => upstream.destroy());
    upstream.on("error", () => client.destroy());
  });
  atEnd(() => void server.close());
  const balancer: Balancer = { url: await listening(server), targets: [] };
  return balancer;
}
