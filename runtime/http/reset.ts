import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";

/**
 * Cuts a response short. A connection that is closed in the ordinary way ends a body without a length as if it were
 * complete (HTTP/1.0, which proxies speak); a reset does not.
 */
export function resetConnection({ socket }: ServerResponse): void {
  if (socket !== null) resetSocket(socket);
}

export function resetSocket(socket: Socket): void {
  try {
    socket.resetAndDestroy();
  } catch {
    // Not a TCP socket: it cannot be reset.
    socket.destroy();
  }
}
