import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { atEnd } from "./at-end.js";

export { freePort } from "../../scripts/clickhouse/start-clickhouse.js";

/** Listens on a free port of the loopback address until the test or the file ends; returns `127.0.0.1:<port>`. */
export async function listen(server: Server): Promise<string> {
  await once(server.listen(0, "127.0.0.1"), "listening");
  atEnd(() => {
    server.closeAllConnections();
    server.close();
  });
  return `127.0.0.1:${String((server.address() as AddressInfo).port)}`;
}
