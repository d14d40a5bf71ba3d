import { described, flag, integer, listOf, named, openRecord, text, type Schema } from "../model/schema.js";
import { type HttpError, isHttpError } from "../model/errors.js";
import { DEFAULT_MAX_LENGTH, VALUES_PAGE } from "../model/limits.js";
import type { Reply } from "../http/send.js";
import type { Exchange } from "../handler/exchange.js";
import { requestedValues } from "../handler/list-values.js";
import { json, jsonAnswer, LIMITED, type Service, type SystemRoute } from "./context.js";

const VALUE: Schema = { type: ["string", "number", "boolean", "null"] };

export const VALUES: SystemRoute = {
  method: "GET",
  path: "/v1/system/values",
  access: LIMITED,
  operation: {
    operationId: "system_values",
    summary: "Values of a column",
    description:
      "The values of an endpoint's column in the rows that the caller may read, the most frequent first, so that a filter can " +
      "ask for one that exists. Further parameters are filters of the endpoint. They are kept for 60 seconds.",
    query: openRecord(
      {
        path: described("Path of the endpoint.", { ...text, minLength: 1 }),
        column: described("A column of its rows; a group where it serves no rows.", {
          ...text,
          minLength: 1,
        }),
      },
      {
        prefix: {
          ...text,
          maxLength: DEFAULT_MAX_LENGTH,
          description: "Only values that begin with this text, in any letter case.",
        },
        limit: {
          ...integer,
          ...{ minimum: 1, maximum: VALUES_PAGE.maxLimit, default: VALUES_PAGE.defaultLimit },
          description: "How many values at most.",
        },
      },
    ),
    responses: [jsonAnswer("The values.", named("ColumnValues"))],
  },
  handle: values,
};

export const VALUES_SCHEMA = openRecord({
  values: described(
    "The most frequent first; those of a group sorted. Texts of more than 1,000 characters are left out.",
    listOf(
      openRecord(
        {
          value: described("As rows have it; numbers of more than 15 digits are texts here.", VALUE),
        },
        { rows: described("Rows that have it; absent where the endpoint serves no rows.", integer) },
      ),
    ),
  ),
  more: described("Whether there are others.", flag),
});

async function values(exchange: Exchange, service: Service): Promise<Reply | HttpError | null> {
  const found = await requestedValues(exchange, service);
  return found === null || isHttpError(found) ? found : json(200, found);
}
