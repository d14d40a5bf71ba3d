import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";

/**
 * Aborts a response. An orderly close would end a body without a length as if it were complete (HTTP/1.0, which proxies
 * use); a reset does not.
 */
export function resetConnection({ socket }: ServerResponse): void {
  if (socket !== null) resetSocket(socket);
}

export function resetSocket(socket: Socket): void {
  try {
    socket.resetAndDestroy();
  } catch {
    // Only TCP sockets can be reset.
    socket.destroy();
  }
}
