import type { ServerResponse } from "node:http";
import type { Endpoint } from "../model/endpoint.js";
import type { DataRequest } from "./fields.js";
import type { Gateway } from "./gateway.js";

/** One request on its way. */
export interface RequestContext {
  readonly gateway: Gateway;
  /** Null when no endpoint has the path. */
  readonly endpoint: Endpoint | null;
  readonly request: DataRequest;
  readonly response: ServerResponse;
  readonly requestId: string;
}
