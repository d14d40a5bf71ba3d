import { ROUTES } from "../../core/handler/system-routes.js";
import { type HttpError, isHttpError } from "../../core/model/errors.js";
import type { Reply } from "../../core/http/send.js";
import type { Exchange } from "../../core/handler/exchange.js";
import { requestedValues } from "../../core/handler/list-values.js";
import { json, type Service, type SystemRoute } from "./context.js";

export const VALUES: SystemRoute = {
  ...ROUTES.values,
  handle: values,
};

export const VALUES_QUERY: SystemRoute = {
  ...VALUES,
  method: "QUERY",
  operation: null,
};

async function values(exchange: Exchange, service: Service): Promise<Reply | HttpError | null> {
  const found = await requestedValues(exchange, service);
  return found === null || isHttpError(found) ? found : json(200, found);
}
