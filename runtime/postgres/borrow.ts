import type { Connection, Connections, Waiter } from "./connections.js";

/** Who wants a connection to himself. */
export interface Borrower extends Waiter {
  use(connection: Connection): void;
}

/** Lends connections one by one. */
export function lend(connection: Connection, waiting: Borrower[]): void {
  const next = waiting.shift();
  if (next) next.use(connection);
  else connection.release(false);
}

/** Takes a connection. Rejects when none is free in time, or none can be made. */
export function take(connections: Connections<Borrower>): Promise<Connection> {
  return new Promise((use, failed) => connections.join({ since: performance.now(), use, failed }));
}
