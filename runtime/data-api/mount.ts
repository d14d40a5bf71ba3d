import type { Request, RequestHandler } from "express";
import type { Gateway } from "./gateway.js";

const gateways = new WeakMap<Request, Gateway>();

/** Express middleware that gives the handlers behind it their keys, limits and warehouse. */
export function withGateway(gateway: Gateway): RequestHandler {
  return (request, _response, next) => {
    gateways.set(request, gateway);
    next();
  };
}

/** The gateway that `withGateway` gave to a request. */
export function gatewayOf(request: Request): Gateway {
  const gateway = gateways.get(request);
  if (gateway) return gateway;
  throw new Error(
    "No gateway for this request: put `app.use(withGateway(gateway))` before the generated handlers.",
  );
}
