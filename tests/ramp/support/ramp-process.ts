/** The ramp in a process of its own, which ends like a crash at the point that `RAMP_FAULT` names. Prints its address first. */
import "./only-the-database.js";
import { armFailpoint, type Failpoint } from "../../../runtime/ramp/core/failpoints.js";
import { DEFAULT_POLLING_POLICY } from "../../../runtime/ramp/intents/lease.js";
import { startRamp } from "../../../runtime/ramp/start-ramp.js";
import { SERVER, serveTest } from "./server.js";

const {
  RAMP_TEST_DATABASE = "",
  RAMP_TEST_PORT = "0",
  RAMP_TEST_PUBLIC_URL,
  RAMP_TEST_SEARCH_PATH = "pg_catalog",
  RAMP_FAULT = "",
  RAMP_FAULT_GATHER_MS = "0",
} = process.env;
const ramp = await startRamp({
  ...SERVER,
  databaseUrl: RAMP_TEST_DATABASE,
  secretsKey: Buffer.alloc(32, 7),
  port: Number(RAMP_TEST_PORT),
  publicUrl: RAMP_TEST_PUBLIC_URL ?? null,
  searchPath: RAMP_TEST_SEARCH_PATH,
  polling: {
    ...DEFAULT_POLLING_POLICY,
    leaseMs: 2_500,
    compliancePollMs: 500,
    executionPollMs: 300,
    maxPollMs: 500,
    firstBackoffMs: 100,
    maxBackoffMs: 500,
    attentionAfter: 6,
    followUpPollMs: 500,
  },
  // A quote that is late is not asked for again: on a busy machine it would be missing.
  providerCalls: { timeoutMs: 700, quoteTimeoutMs: 30_000, breakerPauseMs: 500 },
});
if (RAMP_FAULT !== "") armFailpoint(RAMP_FAULT as Failpoint, Number(RAMP_FAULT_GATHER_MS));
serveTest(ramp.url);
