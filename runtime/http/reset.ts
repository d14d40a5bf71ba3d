import type { ServerResponse } from "node:http";

/**
 * Cuts a response short. A connection that is closed in the ordinary way ends a body without a length as if it were
 * complete (HTTP/1.0, which proxies speak); a reset does not.
 */
export function resetConnection({ socket }: ServerResponse): void {
  if (socket === null || socket.destroyed) return;
  try {
    socket.resetAndDestroy();
  } catch {
    // Not a TCP socket: it cannot be reset.
    socket.destroy();
  }
}
