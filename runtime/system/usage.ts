import { RATE_WINDOW_SECONDS, TIERS } from "../model/tier.js";
import { SUMS } from "../operations/usage-table.js";
import {
  described,
  INTEGER,
  INTEGER_OR_NULL,
  named,
  oneOf,
  orNull,
  record,
  TEXT_OR_NULL,
  texts,
  TIME,
} from "../model/schema.js";
import type { Exchange } from "../handler/exchange.js";
import { json, jsonAnswer, LIMITED, type Service, type SystemRoute } from "./context.js";
import type { Reply } from "../http/send.js";

export const USAGE: SystemRoute = {
  method: "GET",
  path: "/v1/system/usage",
  access: LIMITED,
  operation: {
    operationId: "system_usage",
    summary: "The caller's limits and use",
    description: "Limits and use of the caller's own key, or limits of a caller without one.",
    responses: [jsonAnswer("Limits and use.", named("Usage"))],
  },
  handle: usage,
};

export const USAGE_SCHEMA = record({
  user: described(TEXT_OR_NULL, "Null without a key."),
  tier: oneOf(TIERS),
  org: TEXT_OR_NULL,
  expires: orNull(TIME, "When the key expires."),
  allowed: orNull(texts("Categories and paths that the key is limited to.")),
  limits: record({
    requests_per_window: INTEGER,
    window_seconds: INTEGER,
    query_timeout_ms: INTEGER_OR_NULL,
    stream_timeout_ms: INTEGER_OR_NULL,
  }),
  window: record({ requests: INTEGER, remaining: INTEGER, resets_at: TIME }),
  days: {
    type: ["array", "null"],
    description: "The last 30 days with requests; null without a key, or where usage is not recorded.",
    items: record({
      day: { type: "string", format: "date", description: "In UTC." },
      ...Object.fromEntries(SUMS.map((name) => [name, INTEGER])),
    }),
  },
});

/** Limits and use of the caller's own key. It reads the database, so it counts against the window. */
async function usage({ gateway, context }: Exchange, service: Service): Promise<Reply> {
  const { caller, window } = context;
  const { key, tier, org, allowed } = caller;
  const { timeouts, streamTimeouts } = gateway;
  const days = key === null ? null : await service.usageOf(key.id);
  return json(200, {
    user: key?.user ?? null,
    tier,
    org,
    expires: timeOf(key?.expiresAt ?? null),
    allowed,
    limits: {
      requests_per_window: window.limit,
      window_seconds: RATE_WINDOW_SECONDS,
      query_timeout_ms: timeouts[tier] || null,
      stream_timeout_ms: streamTimeouts[tier] || null,
    },
    window: {
      requests: window.count,
      remaining: Math.max(0, window.limit - window.count),
      resets_at: timeOf(window.resetAt),
    },
    days: days?.map((line) => Object.fromEntries(["day", ...SUMS].map((name) => [name, line[name]]))) ?? null,
  });
}

function timeOf(milliseconds: number | null): string | null {
  return milliseconds === null ? null : new Date(milliseconds).toISOString();
}
