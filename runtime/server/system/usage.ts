import { SUMS } from "../../core/handler/request-record.js";
import { ROUTES } from "../../core/handler/system-routes.js";
import { RATE_WINDOW_SECONDS } from "../../core/model/tier.js";
import type { Exchange } from "../../core/handler/exchange.js";
import { json, type Service, type SystemRoute } from "./context.js";
import type { Reply } from "../../core/http/send.js";

export const USAGE: SystemRoute = {
  ...ROUTES.usage,
  handle: usage,
};

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
