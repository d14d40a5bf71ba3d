import { isLocalCaller } from "../http/headers.js";
import { httpError, type HttpError } from "../model/errors.js";
import type { Reply } from "../response/send.js";
import { type SystemEndpoint, textAnswer } from "./operation.js";
import type { Context } from "./context.js";

export const METRICS: SystemEndpoint = {
  path: "/metrics",
  method: "get",
  operationId: "system_metrics",
  summary: "Metrics",
  description:
    "Metrics for Prometheus. Loopback callers need no key; METRICS_PUBLIC=true opens them to all callers.",
  tier: "tier3",
  kind: "metrics",
  responses: { 200: textAnswer("Metrics in the Prometheus text format.", "text/plain") },
};

/** For loopback callers and tier3 keys (runtime/docs/operations.md). */
export async function metrics({ gateway, service, request, caller }: Context): Promise<Reply | HttpError> {
  const isLocal = isLocalCaller(gateway.addressOf, request);
  if (!service.metricsPublic && !isLocal && (caller.tier !== "tier3" || caller.allowed !== null))
    return httpError("metricsForbidden");
  return { status: 200, body: await service.metrics.text(), contentType: service.metrics.contentType };
}
