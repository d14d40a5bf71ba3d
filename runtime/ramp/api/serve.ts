import type { Request } from "express";
import { runOnce, type Work } from "../idempotency/run.js";
import { type ProjectId, projectId } from "../project/project.js";
import type { Ramp } from "../ramp.js";
import { admit, type Gate } from "./access.js";
import type { Answer } from "./answer.js";
import { isRefusal, type Refusal } from "./errors.js";
import { readKey, readQuery, readRequestBody, type ReadBody } from "./read-request.js";
import type { Call, Route } from "./route.js";

/**
 * Answers one request to an endpoint: who calls, how often, the body, the key, the fields, the work. "gone" when the client
 * has left and nothing was begun.
 */
export async function serveRoute(
  ramp: Ramp,
  gate: Gate,
  route: Route,
  request: Request,
): Promise<Answer | Refusal | "gone"> {
  const caller = await admit(gate, route.access, request);
  if (isRefusal(caller)) return caller;
  const url = new URL(request.originalUrl, "http://localhost");
  const query = readQuery(url, route);
  if (isRefusal(query)) return query;
  const body = await readRequestBody(request, route);
  if (body === "gone" || isRefusal(body)) return body;
  const call = {
    ramp,
    caller,
    parameters: request.params as Record<string, string>,
    query,
    body: body.value,
    text: body.text,
    headers: request.headers,
    path: url.pathname,
  } as Call<never, never, never>;
  switch (route.run.kind) {
    case "direct":
      return body.invalid ?? route.run.handle(call);
    case "once":
      return serveOnce(ramp, route.run.work(call), request, url.pathname, body, caller);
  }
}

async function serveOnce(
  ramp: Ramp,
  work: Work,
  request: Request,
  path: string,
  { value, invalid }: ReadBody,
  caller: { readonly id?: string; readonly projectId?: ProjectId; readonly customerId?: string } | null,
): Promise<Answer | Refusal> {
  const key = readKey(request, path, value, caller?.customerId ?? null);
  if (isRefusal(key)) return key;
  const project = caller?.projectId ?? projectId(caller?.id ?? "");
  return runOnce(ramp, project, key, {
    // A body that is not valid is refused as late as any other: a key that knows another body has its say first.
    prepare: () => (invalid === null ? work.prepare() : Promise.resolve(invalid)),
    finish: (resourceId, store) => work.finish(resourceId, store),
  });
}
