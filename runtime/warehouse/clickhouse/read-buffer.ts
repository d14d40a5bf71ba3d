import type { Agent } from "node:http";
import type { OnReadOpts, Socket } from "node:net";

/** As much as Node reads at once. */
const READ_BYTES = 64 * 1024;

/**
 * Gives each connection of an agent one buffer for all that it reads: Node's HTTP parser copies bodies out of it. Otherwise each read
 * allocates 64 KiB, which the garbage collector frees.
 */
export function withReadBuffers<Client extends Agent>(agent: Client): Client {
  const connect = agent.createConnection.bind(agent);
  agent.createConnection = (options, done) => {
    const onread: OnReadOpts = {
      buffer: Buffer.allocUnsafeSlow(READ_BYTES),
      // As Node does with a buffer of its own.
      callback: (bytes, buffer) => socket.push(buffer.subarray(0, bytes)),
    };
    const reading = { ...options, onread };
    const socket = connect(reading, done) as Socket;
    return socket;
  };
  return agent;
}
