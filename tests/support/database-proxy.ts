import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { atEnd } from "./at-end.js";

/** Listens in the database's place; ended with the test. */
export async function proxyOf(url: string, handle: (client: Socket, open: () => Socket) => void) {
  const { hostname, port } = new URL(url);
  const sockets = new Set<Socket>();
  const hold = (socket: Socket): Socket => {
    sockets.add(socket);
    return socket.on("error", () => undefined);
  };
  const server = createServer((client) => {
    hold(client);
    handle(client, () => hold(connect(Number(port), hostname)));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  atEnd(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  const address = new URL(url);
  address.host = `127.0.0.1:${String((server.address() as AddressInfo).port)}`;
  return { url: address.href };
}

/** Closes the first connection that sends this text, instead of passing it on. */
export function proxyThatCloses(url: string, text: string) {
  let isClosed = false;
  return proxyOf(url, (client, open) => {
    const database = open();
    database.pipe(client);
    client.on("close", () => database.destroy());
    client.on("data", (bytes: Buffer) => {
      if (isClosed || !bytes.includes(text)) return void database.write(bytes);
      isClosed = true;
      client.end();
    });
  });
}

/** Passes everything on, and notes the first lines of requests over HTTP: their addresses. */
export async function proxyThatNotes(url: string) {
  const addresses: string[] = [];
  const { url: noted } = await proxyOf(url, (client, open) => {
    const database = open();
    database.pipe(client);
    client.on("close", () => database.destroy());
    database.on("close", () => client.destroy());
    client.on("data", (bytes: Buffer) => {
      addresses.push(...(bytes.toString("latin1").match(/(?:GET|POST|PUT) \S+ HTTP\/1\.1/g) ?? []));
      database.write(bytes);
    });
  });
  return { url: noted, addresses };
}

/** ReadyForQuery, the end of an answer, without its last byte. */
const READY = Buffer.from("Z\0\0\0\x05", "latin1");

/** Passes everything on; `say` runs a statement in all sessions of PostgreSQL, which must be idle, without their client. */
export async function proxyThatSays(url: string) {
  const sessions = new Set<(sql: string) => Promise<void>>();
  const { url: said } = await proxyOf(url, (client, open) => {
    const database = open();
    let answered: (() => void) | null = null;
    const say = (sql: string) =>
      new Promise<void>((resolve) => {
        answered = resolve;
        const text = Buffer.from(`Q\0\0\0\0${sql}\0`);
        text.writeInt32BE(text.length - 1, 1);
        database.write(text);
      });
    sessions.add(say);
    client.on("data", (bytes: Buffer) => database.write(bytes));
    client.on("close", () => database.destroy());
    database.on("data", (bytes: Buffer) => {
      if (answered === null) client.write(bytes);
      else if (bytes.includes(READY)) {
        answered();
        answered = null;
      }
    });
    database.on("close", () => {
      sessions.delete(say);
      client.destroy();
    });
  });
  const say = async (sql: string): Promise<number> => {
    await Promise.all([...sessions].map((each) => each(sql)));
    return sessions.size;
  };
  return { url: said, say };
}
