/** The sandbox in a process of its own; prints its address as the first line. */
import { startSandbox } from "../../../runtime/ramp/sandbox/sandbox-server.js";

const sandbox = await startSandbox({ host: "127.0.0.1", port: 0, switches: { settleMs: 50 } });
console.log(sandbox.url);
// Ends with the test that started it, however that ends.
process.stdin.resume().on("end", () => process.exit(0));
