import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import { listen } from "../support/port.js";

/** What passes a gate, and what does not. */
export interface Gate {
  readonly url: string;
  /** Bytes of bodies that it has passed on since the last call. */
  passed(): number;
  /** Sends half of the next answer with a body of some size, then waits for `run` before the rest. */
  pauseNext(run: () => Promise<unknown>): void;
  /** Ends the connection within the body of the next answer. */
  cutNext(): void;
  /** Answers nothing until the end. */
  silence(isSilent: boolean): void;
  /** What it answers itself; null: it passes the request on. */
  answer(own: ((request: IncomingMessage, response: ServerResponse) => boolean) | null): void;
}

/** A real HTTP proxy in front of a store, on a free port of this machine. `target` is its address. */
export async function gateTo(target: string): Promise<Gate> {
  let bytes = 0;
  let paused: (() => Promise<unknown>) | null = null;
  let isCut = false;
  let isSilent = false;
  let own: Parameters<Gate["answer"]>[0] = null;
  const server = createServer((incoming, outgoing) => {
    if (isSilent) return;
    if (own?.(incoming, outgoing) === true) return;
    const { hostname, port } = new URL(target);
    const { method, url, headers } = incoming;
    // The Host that was asked is signed.
    const passed = request({ hostname, port, method, path: url, headers }, (answer) => {
      void pass(answer, outgoing);
    });
    passed.on("error", () => outgoing.destroy());
    incoming.pipe(passed);
  });
  const pass = async (answer: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const body = Buffer.concat((await answer.toArray()) as Buffer[]);
    bytes += body.length;
    outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
    const isFile =
      answer.statusCode === 200 &&
      body.length > 1000 &&
      answer.headers["content-type"]?.includes("xml") !== true;
    if (!isFile || (paused === null && !isCut)) return void outgoing.end(body);
    const half = body.subarray(0, body.length / 2);
    await new Promise((written) => outgoing.write(half, written));
    if (isCut) {
      isCut = false;
      return void outgoing.destroy();
    }
    const run = paused;
    paused = null;
    await run?.();
    outgoing.end(body.subarray(half.length));
  };
  const host = await listen(server);
  return {
    url: `http://${host}`,
    passed: () => {
      const before = bytes;
      bytes = 0;
      return before;
    },
    pauseNext: (run) => (paused = run),
    cutNext: () => (isCut = true),
    silence: (silent) => (isSilent = silent),
    answer: (next) => (own = next),
  };
}
