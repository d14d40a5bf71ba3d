import type { Cluster } from "./cluster.js";
import { ensureDatabase } from "./database.js";
import { isOurs, openSession, type Session } from "./session.js";
import { JOIN, WATCH_OVER } from "./watch.js";

/**
 * Makes this process a user of the server on a port, for as long as the session lasts. Until it has joined a session
 * keeps the Node process alive; from then on it doesn't.
 *
 * @throws Error when the server isn't ready, or not the cluster's
 */
export async function join(cluster: Cluster, port: number): Promise<Session> {
  const session = await openSession(cluster, port, "uses this server");
  try {
    if (!(await isOurs(cluster, session)))
      throw new Error(`the server on port ${String(port)} is another cluster's`);
    await session.client.query(JOIN);
    await ensureDatabase(session.client);
    await watchOver(cluster, port);
    session.socket.unref();
    return session;
  } catch (error) {
    session.socket.destroy();
    throw error;
  }
}

/** Not awaited to the end: the session lasts as long as the server unless another watches already. */
async function watchOver(cluster: Cluster, port: number): Promise<void> {
  const { client, socket } = await openSession(cluster, port, "shuts the server down when nobody uses it");
  client.query(WATCH_OVER).then(
    () => client.end(),
    () => {},
  );
  socket.unref();
}
