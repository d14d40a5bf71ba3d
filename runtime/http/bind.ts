import { once } from "node:events";
import type { Server } from "node:net";

/** Makes a server listen. Resolves to its address as an `http://` URL; rejects with what to do when the port cannot be had. */
export async function bind(server: Server, host: string, port: number): Promise<string> {
  server.listen(port, host);
  await once(server, "listening").catch((error: unknown) => {
    throw new Error(notListening(error as NodeJS.ErrnoException, host, port));
  });
  return urlOf(server, host);
}

/** Why a server cannot listen, and what to do. */
function notListening({ code, message }: NodeJS.ErrnoException, host: string, port: number): string {
  switch (code) {
    case "EADDRINUSE":
      return `Port ${String(port)} of ${host} is in use: stop what uses it, or choose another port.`;
    case "EACCES":
      return `Port ${String(port)} of ${host} is not for this user: choose one from 1024 up.`;
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
      return `HOST ${host} is no address of this machine.`;
    default:
      return `Cannot listen on port ${String(port)} of ${host}: ${message}`;
  }
}

function urlOf(server: Server, host: string): string {
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return `http://${host.includes(":") ? `[${host}]` : host}:${String(port)}`;
}
