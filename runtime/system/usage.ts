import { RATE_WINDOW_SECONDS, TIERS } from "../model/tier.js";
import { SUMS } from "../operations/usage-table.js";
import {
  described,
  integer,
  named,
  oneOf,
  openRecord,
  orNull,
  textOrNull,
  texts,
  time,
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

export const USAGE_SCHEMA = openRecord({
  user: described("Null without a key.", textOrNull),
  tier: oneOf(TIERS),
  org: textOrNull,
  expires: described("When the key expires.", orNull(time)),
  allowed: orNull(described("Categories and paths that the key is limited to.", texts)),
  limits: openRecord({
    requests_per_window: integer,
    window_seconds: integer,
    query_timeout_ms: orNull(integer),
    stream_timeout_ms: orNull(integer),
  }),
  window: openRecord({ requests: integer, remaining: integer, resets_at: time }),
  days: {
    type: ["array", "null"],
    description: "The last 30 days with requests; null without a key, or where usage is not recorded.",
    items: openRecord({
      day: { type: "string", format: "date", description: "In UTC." },
      ...Object.fromEntries(SUMS.map((name) => [name, integer])),
    }),
  },
});

/** Limits and use of the caller's own key. It reads the database, so it counts against the window. */
async function usage({ gateway, context }: Exchange, service: Service): Promise<Reply> {
  const { caller, window } = context;
  const { key, tier, org, allowed } = caller;
  const { queryLimits, streamTimeouts } = gateway;
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
      query_timeout_ms: queryLimits[tier].timeoutMs || null,
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
