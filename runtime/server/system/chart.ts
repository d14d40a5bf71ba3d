import { chartPoints } from "../../core/handler/chart-points.js";
import type { Exchange } from "../../core/handler/exchange.js";
import { ROUTES } from "../../core/handler/system-routes.js";
import type { Reply } from "../../core/http/send.js";
import { type HttpError, isHttpError } from "../../core/model/errors.js";
import { json, type Service, type SystemRoute } from "./context.js";

export const CHART: SystemRoute = {
  ...ROUTES.chart,
  handle: chart,
};

async function chart(exchange: Exchange, service: Service): Promise<Reply | HttpError | null> {
  const found = await chartPoints(exchange, service);
  return found === null || isHttpError(found) ? found : json(200, found);
}
