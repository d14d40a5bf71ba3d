import { once } from "node:events";
import { createServer } from "node:net";

/** The port where it is free, else 0: any free one. */
export async function freePort(host: string, port: number): Promise<number> {
  const server = createServer();
  const found = await once(server.listen(port, host), "listening").then(
    () => port,
    () => 0,
  );
  await new Promise((resolve) => server.close(resolve));
  return found;
}
