import { once } from "node:events";
import { createConnection, type Socket } from "node:net";
import type { RequestListener } from "node:http";
import { atEnd } from "../../support/at-end.js";
import type { ServerLimits } from "../../../runtime/core/http/server-limits.js";
import { listen } from "../../../runtime/core/http/listen.js";

/** Sends the bodies of tests. */
export const SENDER = { id: "test", share: 1 };

/** A connection that closes is gone soon. */
export const SHORT_LINGER: Partial<ServerLimits> = { lingerMs: 200, checkMs: 20 };
/** So are requests that do not arrive whole; a busy machine refuses those that do, too. */
export const SHORT: Partial<ServerLimits> = { ...SHORT_LINGER, headersMs: 200, requestMs: 400 };

/** Serves a listener with limits of its own, on a free port; stopped at the end of the test, or of the file. */
export async function serveWith(listener: RequestListener, limits: Partial<ServerLimits>): Promise<string> {
  const server = await listen(listener, "127.0.0.1", 0, { limits });
  atEnd(() => server.stop());
  return server.url;
}

/** Where a client calls from; all of 127.0.0.0/8 is this machine. */
export interface ClientOptions {
  readonly from?: string;
}

/** A client that speaks as it likes and never closes its side by itself. */
export class Client {
  readonly socket: Socket;
  /** Resolves once the server has no part in the connection any more. */
  readonly closed: Promise<unknown>;
  #said = "";

  constructor(url: string, { from = "127.0.0.1" }: ClientOptions = {}) {
    const port = Number(new URL(url).port);
    this.socket = createConnection({ port, host: "127.0.0.1", localAddress: from, allowHalfOpen: true });
    this.socket.on("data", (chunk: Buffer) => (this.#said += chunk.toString("latin1")));
    this.socket.on("error", () => undefined);
    this.closed = new Promise((resolve) => this.socket.once("end", resolve).once("close", resolve));
    atEnd(() => void this.socket.destroy());
  }

  /** Connected, and with this sent. */
  static async saying(url: string, text: string, options?: ClientOptions): Promise<Client> {
    const client = new Client(url, options);
    await once(client.socket, "connect");
    client.send(text);
    return client;
  }

  send(text: string): void {
    if (this.socket.writable) this.socket.write(text);
  }

  /** Sends a text again and again until the connection ends. */
  drip(text: string, everyMs: number): void {
    const timer = setInterval(() => this.send(text), everyMs);
    this.socket.on("close", () => clearInterval(timer));
    atEnd(() => clearInterval(timer));
  }

  /** All that the server has said. */
  get said(): string {
    return this.#said;
  }

  /** Statuses of its answers. */
  get statuses(): readonly number[] {
    return [...this.#said.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
  }

  /** Resolves once it has said something that matches. */
  async hears(pattern: RegExp): Promise<void> {
    while (!pattern.test(this.#said)) await once(this.socket, "data");
  }
}

/** A whole request. */
export function get(path: string, headers = ""): string {
  return `GET ${path} HTTP/1.1\r\nHost: x\r\n${headers}\r\n`;
}
