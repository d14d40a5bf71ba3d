import { ROUTES } from "../../core/handler/system-routes.js";
import type { Exchange } from "../../core/handler/exchange.js";
import { json, type Service, type SystemRoute } from "./context.js";
import type { Reply } from "../../core/http/send.js";

export const REFRESH: SystemRoute = {
  ...ROUTES.refresh,
  handle: refresh,
};

/** Reads the manifest now. */
async function refresh({ request }: Exchange, service: Service): Promise<Reply> {
  // A body is ignored; unread, it would block the next request of the connection.
  request.resume();
  return json(200, await service.refresh());
}
