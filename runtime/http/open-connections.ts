import type { Socket } from "node:net";
import { Connection, type Refusing } from "./connection.js";
import type { Limits } from "./limits.js";

/** How many idle connections make room at a time, as a share of all: looking for them takes a look at each. */
const SHARE_CLOSED = 1 / 100;

/** An error on a connection is its client's business; a socket that nobody listens to would end the process with it. */
const ignored = (): void => undefined;

/**
 * The connections of a server. Once there are as many as it may hold, the idle ones make room for newcomers: a flood of
 * connections that do nothing keeps nobody out, neither behind a proxy, from whom all of them come, nor without one.
 */
export class OpenConnections {
  readonly #limits: Limits;
  readonly #refusing: Refusing;
  readonly #open = new Map<Socket, Connection>();

  constructor(limits: Limits, refusing: Refusing) {
    this.#limits = limits;
    this.#refusing = refusing;
  }

  /** Takes a new connection in, or turns it away. */
  add(socket: Socket): void {
    socket.on("error", ignored);
    if (this.#open.size >= this.#limits.connections) this.#makeRoom();
    if (this.#open.size >= this.#limits.connections) {
      void this.#refusing(503, socket).then((text) => socket.end(text).destroySoon());
      return;
    }
    this.#open.set(socket, new Connection(socket, this.#limits, this.#refusing));
    socket.once("close", () => this.#open.delete(socket));
  }

  /** Undefined for one that was turned away. */
  of(socket: Socket): Connection | undefined {
    return this.#open.get(socket);
  }

  /** Closes those that are overdue. */
  check(): void {
    const now = performance.now();
    for (const connection of this.#open.values()) connection.check(now);
  }

  #makeRoom(): void {
    const most = Math.max(1, Math.floor(this.#limits.connections * SHARE_CLOSED));
    const idle = [...this.#open.values()].filter(({ isIdle }) => isIdle);
    for (const { socket } of longestIdle(idle, most)) {
      this.#open.delete(socket);
      socket.destroy();
    }
  }
}

/**
 * The idle connections to close, those that have been idle longest: of the address that has the most, so that who holds few
 * keeps them, or of all where nobody has many.
 */
function longestIdle(idle: readonly Connection[], most: number): readonly Connection[] {
  const largest = largestGroup(idle);
  const candidates = largest.length > most ? [...largest] : [...idle];
  return candidates.sort((a, b) => (a.idleSince < b.idleSince ? -1 : 1)).slice(0, most);
}

function largestGroup(connections: readonly Connection[]): readonly Connection[] {
  const byAddress = new Map<string, Connection[]>();
  for (const connection of connections) {
    const address = connection.socket.remoteAddress ?? "";
    const group = byAddress.get(address);
    if (group) group.push(connection);
    else byAddress.set(address, [connection]);
  }
  return [...byAddress.values()].reduce((a, b) => (b.length > a.length ? b : a), []);
}
