/** The sandbox in a process of its own; prints its address as the first line. */
import { startSandbox } from "../../../runtime/ramp/sandbox/sandbox-server.js";
import { serveTest } from "./server.js";

const sandbox = await startSandbox({ host: "127.0.0.1", port: 0, switches: { settleMs: 50 } });
serveTest(sandbox.url);
