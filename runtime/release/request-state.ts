import type { IncomingMessage } from "node:http";
import type { RequestHandler } from "express";
import { atFormerPath, type Endpoint, type FormerPath } from "../model/endpoint.js";
import type { Gateway } from "./gateway.js";

const GATEWAY = Symbol("gateway");

const FORMER_PATH = Symbol("former path");

/** A request with its gateway, and the former path that it came by. */
interface GatewayRequest {
  [GATEWAY]?: Gateway;
  [FORMER_PATH]?: FormerPath;
}

/** Express middleware: the generated handlers after it use this gateway. */
export function withGateway(gateway: Gateway): RequestHandler {
  return (request, _response, next) => {
    setGateway(request, gateway);
    next();
  };
}

export function setGateway(request: IncomingMessage, gateway: Gateway): void {
  (request as GatewayRequest)[GATEWAY] = gateway;
}

/** The request came by a former path of the endpoint whose handler runs next. */
export function setFormerPath(request: IncomingMessage, former: FormerPath): void {
  (request as GatewayRequest)[FORMER_PATH] = former;
}

/** The endpoints at their former paths. */
const former = new WeakMap<FormerPath, Endpoint>();

/** The endpoint as it answers at the path of the request: keys that list the former path still open it. */
export function endpointAt(endpoint: Endpoint | null, request: IncomingMessage): Endpoint | null {
  const path = (request as GatewayRequest)[FORMER_PATH];
  if (endpoint === null || path === undefined) return endpoint;
  const moved = former.get(path) ?? atFormerPath(endpoint, path);
  former.set(path, moved);
  return moved;
}

/** The gateway of a request. */
export function gatewayOf(request: IncomingMessage): Gateway {
  const gateway = (request as GatewayRequest)[GATEWAY];
  if (gateway) return gateway;
  throw new Error(
    "No gateway for this request: put `app.use(withGateway(gateway))` before the generated handlers.",
  );
}
