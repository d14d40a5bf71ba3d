import type { ApiKey, Caller } from "../../runtime/core/model/caller.js";
import type { ServedRelease } from "../../runtime/server/operations/metrics.js";
import type { RequestRecord } from "../../runtime/core/handler/request-record.js";

export const ANN: ApiKey = {
  id: "0123456789ab",
  user: "ann",
  org: "Acme",
  tier: "tier1",
  expiresAt: null,
  allowed: null,
};

/** The owner of a key as a caller. */
export function callerOf(key: ApiKey): Caller {
  const { id, tier, org, allowed } = key;
  return { id: `key:${id}`, tier, org, allowed, key };
}

const ANONYMOUS: Caller = { id: "ip:127.0.0.1", tier: "tier0", org: null, allowed: null, key: null };

/** An observed response: one row to a caller without a key, except for the given values. */
export function observation(given: Partial<RequestRecord> = {}): RequestRecord {
  return {
    requestId: "request-1",
    method: "GET",
    route: "/v1/shop/legacy",
    status: 200,
    milliseconds: 2,
    steps: { authorize: 0.1, resolve: 0.2, run: 1.5, respond: 0.2 },
    rows: 1,
    bytes: 100,
    databaseMs: 1,
    caller: ANONYMOUS,
    error: null,
    path: null,
    parameters: [],
    trace: null,
    ...given,
  };
}

/** What an idle server with one endpoint shows in its metrics. */
export const IDLE_RELEASE: ServedRelease = {
  endpoints: new Map([["/v1/a b", null]]),
  manifest: null,
  skippedModels: 0,
  load: { running: 0, waiting: 0, started: 0, waitedMs: 0 },
  degraded: { rate_limits: false, database: false },
  dataAges: new Map(),
  missingRelations: [],
  failingEndpoints: [],
  staleCopies: [],
  lateEndpoints: [],
};

export const NO_REFRESHES = { reloaded: 0, unchanged: 0, error: 0 };
