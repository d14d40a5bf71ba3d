import { createSocket, type RemoteInfo } from "node:dgram";
import { once } from "node:events";
import { atEnd } from "../../support/at-end.js";

/** A name server of a test file's own. It answers from `addresses`; names that are not there never get an answer. */
export interface NameServer {
  /** `127.0.0.1:<port>`. */
  readonly address: string;
  /** Addresses of names; an empty list: there is no such name. */
  readonly addresses: Map<string, readonly string[]>;
  /** The names that were asked for, in order, once per query. */
  readonly asked: string[];
}

export async function ownNameServer(host = "127.0.0.1", port = 0): Promise<NameServer> {
  const socket = createSocket("udp4");
  socket.bind(port, host);
  await once(socket, "listening");
  atEnd(() => void socket.close());
  const addresses: NameServer["addresses"] = new Map();
  const asked: string[] = [];
  socket.on("message", (query: Buffer, { address, port: to }: RemoteInfo) => {
    const { name, type, end } = questionOf(query);
    asked.push(name);
    const known = addresses.get(name);
    if (known) socket.send(answerOf(query.subarray(0, end), type, known), to, address);
  });
  return { address: `${host}:${String(socket.address().port)}`, addresses, asked };
}

const HEADER = 12;
const TYPE_A = 1;

/** The one question of a query (RFC 1035 §4.1.2): its name, its type and where it ends. */
function questionOf(query: Buffer): { readonly name: string; readonly type: number; readonly end: number } {
  const labels: string[] = [];
  let at = HEADER;
  for (let length = query.readUInt8(at); length > 0; length = query.readUInt8(at)) {
    labels.push(query.toString("latin1", at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join(".").toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 };
}

/** An answer with IPv4 addresses that live for 0 s; NXDOMAIN where there are none. */
function answerOf(question: Buffer, type: number, addresses: readonly string[]): Buffer {
  const found = type === TYPE_A ? addresses : [];
  const head = Buffer.from(question);
  head.writeUInt16BE(addresses.length > 0 ? 0x8180 : 0x8183, 2);
  head.writeUInt16BE(found.length, 6);
  head.writeUInt32BE(0, 8);
  const records = found.map((address) =>
    Buffer.from([0xc0, HEADER, 0, TYPE_A, 0, 1, 0, 0, 0, 0, 0, 4, ...address.split(".").map(Number)]),
  );
  return Buffer.concat([head, ...records]);
}
