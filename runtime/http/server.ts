import type { RequestListener, Server } from "node:http";
import { Server as NetServer, type Socket } from "node:net";
import { bind } from "./bind.js";
import { Connections } from "./graceful-shutdown.js";
import { guardedServer } from "./guarded-server.js";
import { type Limits, LIMITS } from "./limits.js";
import { type EarlyErrorHeaders, earlyError } from "./early-errors.js";

export type { EarlyErrorHeaders };

/** A server that is listening. */
export interface RunningServer {
  readonly url: string;
  /** Takes no more requests, lets those under way finish, then closes. */
  stop(): Promise<void>;
}

/** Where a server's connections come from. */
export type ConnectionSource = (server: Server, host: string, port: number) => Promise<OpenConnectionSource>;

export interface OpenConnectionSource {
  /** The server's address. */
  readonly url: string;
  /** No connection comes in any more; those that are there stay. */
  close(): void;
}

/**
 * Starts an HTTP server with the limits that all servers here share, but for those given. Rejects when the port cannot be
 * had.
 */
export async function listen(
  listener: RequestListener,
  host: string,
  port: number,
  strangerHeaders: EarlyErrorHeaders = () => Promise.resolve([]),
  intake: ConnectionSource = listening,
  limits: Partial<Limits> = {},
): Promise<RunningServer> {
  const refusing = (status: number, socket: Socket): Promise<string> =>
    earlyError(status, socket, strangerHeaders);
  const server = guardedServer(listener, refusing, { ...LIMITS, ...limits });
  const connections = new Connections(server);
  const note: RequestListener = (request, response) => connections.note(request, response);
  // Before the listener, who may answer at once.
  for (const event of ["request", "checkContinue", "checkExpectation"]) server.prependListener(event, note);
  const open = await intake(server, host, port);
  const stop = async (): Promise<void> => {
    open.close();
    await connections.drain();
    // By now it has nothing to close but its timer.
    server.close();
  };
  return { url: open.url, stop };
}

/** Connections come from a port. */
export const listening: ConnectionSource = async (server, host, port) => {
  const url = await bind(server, host, port);
  // The close of an HTTP server would close idle connections too, at once: a request that is on its way would be lost.
  return { url, close: () => void NetServer.prototype.close.call(server) };
};
