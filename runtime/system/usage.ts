import { RATE_WINDOW_SECONDS, TIERS } from "../model/tier.js";
import { SUMS } from "../operations/usage-counter.js";
import { jsonAnswer, named, OPEN, record, type Schema, type SystemEndpoint } from "./operation.js";
import { type Context, json } from "./context.js";
import type { Reply } from "../response/send.js";

export const USAGE: SystemEndpoint = {
  ...OPEN,
  path: "/v1/system/usage",
  operationId: "system_usage",
  summary: "The caller's limits and use",
  description: "Limits and use of the caller's own key, or limits of a caller without one.",
  kind: "limited",
  responses: { 200: jsonAnswer("Limits and use.", named("Usage")) },
};

export const USAGE_SCHEMA: Schema = record({
  user: { type: ["string", "null"], description: "Null without a key." },
  tier: { type: "string", enum: TIERS },
  org: { type: ["string", "null"] },
  expires: { type: ["string", "null"], format: "date-time", description: "When the key expires." },
  allowed: {
    type: ["array", "null"],
    items: { type: "string" },
    description: "Categories and paths that the key is limited to.",
  },
  limits: record({
    requests_per_window: { type: "integer" },
    window_seconds: { type: "integer" },
    query_timeout_ms: { type: ["integer", "null"] },
    stream_timeout_ms: { type: ["integer", "null"] },
  }),
  window: record({
    requests: { type: "integer" },
    remaining: { type: "integer" },
    resets_at: { type: "string", format: "date-time" },
  }),
  days: {
    type: ["array", "null"],
    description: "The last 30 days with requests; null without a key, or where usage is not recorded.",
    items: record({
      day: { type: "string", format: "date", description: "In UTC." },
      ...Object.fromEntries(SUMS.map((name) => [name, { type: "integer" }])),
    }),
  },
});

/** Limits and use of the caller's own key. It reads the database, so it counts against the window. */
export async function usage({ gateway, service, caller }: Context): Promise<Reply> {
  const { owner, tier, org, allowed, limit, window } = caller;
  const { timeouts, streamTimeouts } = gateway;
  const days = owner === null ? null : await service.usageOf(owner.id);
  return json(200, {
    user: owner?.user ?? null,
    tier,
    org,
    expires: timeOf(owner?.expiresAt ?? null),
    allowed,
    limits: {
      requests_per_window: limit,
      window_seconds: RATE_WINDOW_SECONDS,
      query_timeout_ms: timeouts[tier] || null,
      stream_timeout_ms: streamTimeouts[tier] || null,
    },
    window: {
      requests: window.count,
      remaining: Math.max(0, limit - window.count),
      resets_at: timeOf(window.resetAt),
    },
    days: days?.map((line) => Object.fromEntries(["day", ...SUMS].map((name) => [name, line[name]]))) ?? null,
  });
}

function timeOf(milliseconds: number | null): string | null {
  return milliseconds === null ? null : new Date(milliseconds).toISOString();
}
