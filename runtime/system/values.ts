import { ROUTES } from "../handler/system-routes.js";
import { type HttpError, isHttpError } from "../model/errors.js";
import type { Reply } from "../http/send.js";
import type { Exchange } from "../handler/exchange.js";
import { requestedValues } from "../handler/list-values.js";
import { json, type Service, type SystemRoute } from "./context.js";

export const VALUES: SystemRoute = {
  ...ROUTES.values,
  handle: values,
};

async function values(exchange: Exchange, service: Service): Promise<Reply | HttpError | null> {
  const found = await requestedValues(exchange, service);
  return found === null || isHttpError(found) ? found : json(200, found);
}
