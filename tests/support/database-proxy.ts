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

/** Answers nothing on connections that are opened while `isMute`, and passes the others on. */
export async function proxyThatMutes(url: string) {
  const proxy = { isMute: false, url };
  const { url: muted } = await proxyOf(url, (client, open) => {
    if (proxy.isMute) return;
    const database = open();
    client.pipe(database).on("close", () => client.destroy());
    database.pipe(client).on("close", () => database.destroy());
  });
  return Object.assign(proxy, { url: muted });
}

/** Passes everything on until `fail`, which ends all connections; none is taken while `isDown`. */
export async function proxyThatFails(url: string) {
  const sockets = new Set<Socket>();
  const proxy = { isDown: false };
  const { url: failing } = await proxyOf(url, (client, open) => {
    if (proxy.isDown) return void client.destroy();
    const database = open();
    sockets.add(client).add(database);
    client.pipe(database).on("close", () => client.destroy());
    database.pipe(client).on("close", () => database.destroy());
  });
  const fail = (): void => {
    proxy.isDown = true;
    for (const socket of sockets) socket.destroy();
    sockets.clear();
  };
  return Object.assign(proxy, { url: failing, fail });
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

/** Passes everything on; `freeze` stops that for good on the connections that are open, and ends none of them, as a host that is fenced. */
export async function proxyThatFreezes(url: string) {
  const sockets = new Set<Socket>();
  const { url: frozen } = await proxyOf(url, (client, open) => {
    const database = open();
    for (const [from, to] of [
      [client, database],
      [database, client],
    ] as const) {
      sockets.add(from);
      from.on("data", (bytes: Buffer) => to.write(bytes));
      from.on("close", () => {
        sockets.delete(from);
        to.destroy();
      });
    }
  });
  const freeze = (): number => {
    const { size } = sockets;
    // Its bytes are taken by the kernel, which says so to the other side.
    for (const socket of sockets) socket.pause();
    sockets.clear();
    return size / 2;
  };
  return { url: frozen, freeze };
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
const endsAnswer = (bytes: Buffer): boolean => bytes.subarray(0, -1).equals(READY);

/** Passes everything on; `say` runs a statement in all sessions of PostgreSQL, of each once it is idle, without their client. */
export async function proxyThatSays(url: string) {
  const sessions = new Set<(sql: string) => Promise<void>>();
  const { url: said } = await proxyOf(url, (client, open) => {
    const database = open();
    let isIdle = false;
    /** The last bytes of the database, which may come in pieces. */
    let last = Buffer.of();
    /** What waits until the session is idle; what waits for the answer to ours, and what the client has sent meanwhile. */
    let [begin, answered] = [null, null] as (null | (() => void))[];
    const held: Buffer[] = [];
    const say = async (sql: string): Promise<void> => {
      if (!isIdle) await new Promise<void>((resolve) => (begin = resolve));
      await new Promise<void>((resolve) => {
        answered = resolve;
        const text = Buffer.from(`Q\0\0\0\0${sql}\0`);
        text.writeInt32BE(text.length - 1, 1);
        database.write(text);
      });
      answered = null;
      for (const bytes of held.splice(0)) send(bytes);
    };
    const send = (bytes: Buffer): void => {
      isIdle = false;
      database.write(bytes);
    };
    sessions.add(say);
    client.on("data", (bytes: Buffer) => {
      if (answered === null) send(bytes);
      else held.push(bytes);
    });
    client.on("close", () => database.destroy());
    database.on("data", (bytes: Buffer) => {
      if (answered === null) client.write(bytes);
      last = Buffer.concat([last, bytes]).subarray(-READY.length - 1);
      if (!endsAnswer(last)) return;
      isIdle = true;
      (answered ?? begin)?.();
      begin = null;
    });
    database.on("close", () => {
      sessions.delete(say);
      begin?.();
      answered?.();
      client.destroy();
    });
  });
  const say = async (sql: string): Promise<number> => {
    await Promise.all([...sessions].map((each) => each(sql)));
    return sessions.size;
  };
  return { url: said, say };
}
