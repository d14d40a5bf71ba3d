import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { Redis } from "ioredis";
import { atEnd } from "./at-end.js";
import { programPath } from "./needs.js";
import { ownFolder } from "./service.js";
import { freePort } from "./port.js";

/** A real Redis of a test's own, on a free port. */
export interface RedisProcess {
  readonly url: string;
  /** Ends it at once, and all that it held with it. */
  kill(): Promise<void>;
  /** Starts it again, empty, where it was. */
  start(): Promise<void>;
  /** Stops it in its tracks: connections stay, and nothing answers. */
  hang(): void;
  /** Lets it go on after `hang`. */
  goOn(): void;
  /** A connection for the test to look at what is there, and to change it. */
  client(): Redis;
}

/** Starts a Redis; ends at the end of the test, or of the file. `password`: what it asks for, if anything. */
export async function startRedis(password = ""): Promise<RedisProcess> {
  const port = await freePort();
  const folder = ownFolder();
  let child = await spawnRedis(port, folder, password);
  const kill = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGKILL");
    await once(child, "exit");
  };
  atEnd(kill);
  const url = `redis://${password === "" ? "" : `:${encodeURIComponent(password)}@`}127.0.0.1:${String(port)}`;
  return {
    url,
    kill,
    async start() {
      child = await spawnRedis(port, folder, password);
    },
    hang: () => void child.kill("SIGSTOP"),
    goOn: () => void child.kill("SIGCONT"),
    client() {
      const client = new Redis(url);
      atEnd(() => client.disconnect());
      return client;
    },
  };
}

/** Starts it without a file of settings, and without anything on disk. */
async function spawnRedis(port: number, folder: string, password: string): Promise<ChildProcess> {
  const settings = {
    port,
    bind: "127.0.0.1",
    dir: folder,
    save: "",
    appendonly: "no",
    requirepass: password,
  };
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const child = spawn(programPath("redis-server"), args, { stdio: ["ignore", "pipe", "inherit"] });
  let printed = "";
  child.stdout.on("data", (chunk: Buffer) => (printed += chunk.toString()));
  while (!printed.includes("Ready to accept connections")) {
    if (child.exitCode !== null) throw new Error(`Redis ended: ${printed}`);
    await Promise.race([once(child.stdout, "data"), once(child, "exit")]);
  }
  return child;
}
