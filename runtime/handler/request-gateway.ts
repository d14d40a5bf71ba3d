import type { IncomingMessage } from "node:http";
import type { RequestHandler } from "express";
import type { Gateway } from "./gateway.js";

const GATEWAY = Symbol("gateway");

/** A request with its gateway. */
interface GatewayRequest {
  [GATEWAY]?: Gateway;
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

/** The gateway of a request. */
export function gatewayOf(request: IncomingMessage): Gateway {
  const gateway = (request as GatewayRequest)[GATEWAY];
  if (gateway) return gateway;
  throw new Error(
    "No gateway for this request: put `app.use(withGateway(gateway))` before the generated handlers.",
  );
}
