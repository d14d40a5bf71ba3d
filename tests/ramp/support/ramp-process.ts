/** The ramp in a process of its own, which ends like a crash at the point that `RAMP_FAULT` names. Prints its address first. */
import { clientAddress } from "../../../runtime/http/headers.js";
import { createLogger } from "../../../runtime/http/logger.js";
import { armFailpoint, type Failpoint } from "../../../runtime/ramp/core/failpoints.js";
import { DEFAULT_POLLING_POLICY } from "../../../runtime/ramp/intents/lease.js";
import { startRamp } from "../../../runtime/ramp/start-ramp.js";

const {
  RAMP_TEST_DATABASE = "",
  RAMP_TEST_PORT = "0",
  RAMP_TEST_PUBLIC_URL,
  RAMP_FAULT = "",
  RAMP_FAULT_GATHER_MS = "0",
} = process.env;
const ramp = await startRamp({
  databaseUrl: RAMP_TEST_DATABASE,
  secretsKey: Buffer.alloc(32, 7),
  host: "127.0.0.1",
  port: Number(RAMP_TEST_PORT),
  publicUrl: RAMP_TEST_PUBLIC_URL ?? null,
  addressOf: clientAddress("false"),
  redisUrl: null,
  metricsPublic: false,
  log: createLogger(process.env["RAMP_TEST_LOG"] ?? "silent"),
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
  providerCalls: { timeoutMs: 700, breakerPauseMs: 500 },
  limits: {
    perCustomer: 1_000_000,
    perProject: 1_000_000,
    perAddress: 1_000_000,
    failedLoginsPerAddress: 1_000_000,
  },
});
if (RAMP_FAULT !== "") armFailpoint(RAMP_FAULT as Failpoint, Number(RAMP_FAULT_GATHER_MS));
console.log(ramp.url);
process.stdin.resume().on("end", () => process.exit(0));
