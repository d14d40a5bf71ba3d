import { createServer } from "node:http";
import { expect, it } from "vitest";
import { ClickhouseConnection } from "../../runtime/clickhouse/connection.js";
import { atEnd } from "../support/at-end.js";
import { listen } from "../support/port.js";

it("a server that answers a ping with another protocol is not up", async () => {
  const server = createServer(({ socket }) =>
    socket.end("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"),
  );
  const [hostname = "", port] = (await listen(server)).split(":");
  const login = { user: "default", password: "", database: "default" };
  const address = { isTls: false, hostname, port: Number(port), ...login };
  const connection = new ClickhouseConnection(address, () => undefined);
  atEnd(() => connection.close());
  expect(await connection.isUp()).toBe(false);
});
