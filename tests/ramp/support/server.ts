/** What the servers of tests share. */
import type { Server } from "node:net";
import { clientAddress } from "../../../runtime/core/environment/common.js";
import { createLogger } from "../../../runtime/core/http/logger.js";

/** Options of a ramp that is not held down by limits. */
export const SERVER = {
  host: "127.0.0.1",
  port: 0,
  publicUrl: null,
  addressOf: clientAddress("false"),
  redisUrl: null,
  metricsPublic: false,
  // A hundred requests at once take a busy machine longer than the ten seconds of a service.
  connectTimeoutMs: 60_000,
  log: createLogger(process.env["RAMP_TEST_LOG"] ?? "silent"),
  limits: {
    perCustomer: 1_000_000,
    perProject: 1_000_000,
    perAddress: 1_000_000,
    failedLoginsPerAddress: 1_000_000,
    documentsPerAddress: 1_000_000,
  },
};

/** Has a server listen on a port of this machine; its address. */
export async function listening(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${String((server.address() as { port: number }).port)}`;
}

/** Tells the test that started this process where it listens; it ends with the test, however that ends. */
export function serveTest(said: string): void {
  console.log(said);
  process.stdin.resume().on("end", () => process.exit(0));
}
