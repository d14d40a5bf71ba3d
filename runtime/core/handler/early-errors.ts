import { BUSY_RETRY_SECONDS, COMMON_HEADERS } from "../http/headers.js";
import type { EarlyErrors } from "../http/listen.js";
import type { EarlyStatus } from "../http/connection-limits.js";
import { type HttpError, httpError } from "../model/errors.js";
import { callerHeaders, peek } from "../request/authorize.js";
import type { Gateway } from "./gateway.js";

/** The errors of a connection without a parsed request. */
export function earlyErrors(gateway: Gateway): EarlyErrors {
  return {
    async headersOf(socket) {
      const context = await peek(gateway, { socket, headers: {} }, () => !socket.destroyed);
      return [...callerHeaders(context), ...COMMON_HEADERS];
    },
    bodyOf: (status) => JSON.stringify({ detail: EARLY_ERRORS[status].detail }),
  };
}

const EARLY_ERRORS: Readonly<Record<EarlyStatus, HttpError>> = {
  400: httpError("malformedRequest"),
  408: httpError("requestTimeout"),
  413: httpError("chunkTooLarge"),
  417: httpError("expectationUnknown"),
  431: httpError("headersTooLarge"),
  503: httpError("tooManyConnections", { n: BUSY_RETRY_SECONDS }),
};
