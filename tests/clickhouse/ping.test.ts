import { createServer, type RequestListener } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { expect, it } from "vitest";
import { ClickhouseConnection } from "../../runtime/clickhouse/connection.js";
import { killQuery } from "../../runtime/clickhouse/select.js";
import { atEnd } from "../support/at-end.js";
import { listen } from "../support/port.js";

const SWITCHING = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n";

async function connectionTo(listener: RequestListener): Promise<ClickhouseConnection> {
  const [hostname = "", port] = (await listen(createServer(listener))).split(":");
  const login = { user: "default", password: "", database: "default" };
  return new ClickhouseConnection({ isTls: false, hostname, port: Number(port), ...login }, () => undefined);
}

const query = {
  statement: killQuery("none"),
  settings: "",
  limits: { timeoutMs: 0, isStillNeeded: () => true },
};

it("a server that answers a ping with another protocol is not up", async () => {
  const connection = await connectionTo(({ socket }) => socket.end(SWITCHING));
  atEnd(() => connection.close());
  expect(await connection.isUp()).toBe(false);
});

it("a query that is answered with another protocol fails, and delays no close", async () => {
  const connection = await connectionTo(({ method, socket }, response) => {
    if (method === "GET") response.end("Ok.");
    else socket.write(SWITCHING);
  });
  const late = pause(120_000, "late", { ref: false });
  const failed = connection.run(query).then(
    () => "resolved",
    () => "rejected",
  );
  expect(await Promise.race([failed, late])).toBe("rejected");
  expect(await Promise.race([connection.close().then(() => "closed"), late])).toBe("closed");
});

it("small results whose connection breaks run no longer: each is cancelled in the database once, at once", async () => {
  const kills: string[] = [];
  const connection = await connectionTo((request, response) => {
    let text = "";
    request.on("data", (chunk: Buffer) => (text += chunk.toString()));
    request.on("end", () => {
      if (request.method === "GET") return void response.end("Ok.");
      if (!text.includes("none")) {
        kills.push(text);
        return void response.end();
      }
      response.writeHead(200, { "X-ClickHouse-Exception-Tag": "tag" });
      response.write("half a li", () => response.destroy());
    });
  });
  for (let i = 0; i < 20; i++) await expect(connection.text(query)).rejects.toThrow();
  await expect.poll(() => kills.length).toBe(20);
  await connection.close();
  expect(kills).toHaveLength(20);
});
