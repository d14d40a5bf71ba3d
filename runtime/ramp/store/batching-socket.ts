import { Socket } from "node:net";

/**
 * A socket that sends what is written within one turn of the event loop in one packet. The driver writes each statement by
 * itself: with many small statements in a row the system calls would cost more than the rest of the request.
 */
export function batchingSocket(): Socket {
  const socket = new Socket();
  let isHeld = false;
  const hold = (): void => {
    if (isHeld) return;
    isHeld = true;
    socket.cork();
    process.nextTick(() => {
      isHeld = false;
      socket.uncork();
    });
  };
  // `connect` puts the plain `write` back in place, so this comes after it.
  socket.once("connect", () => {
    const write = socket.write.bind(socket) as (...args: unknown[]) => boolean;
    socket.write = (...args: unknown[]) => {
      hold();
      return write(...args);
    };
  });
  return socket;
}
