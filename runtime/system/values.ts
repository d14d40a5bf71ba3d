import { described, FLAG, INTEGER, listOf, named, record, type Schema, TEXT } from "../model/schema.js";
import { type HttpError, isHttpError } from "../model/errors.js";
import { DEFAULT_MAX_LENGTH, VALUES_PAGE } from "../model/limits.js";
import type { Reply } from "../http/send.js";
import type { Exchange } from "../handler/exchange.js";
import { requestedValues } from "../handler/values.js";
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
    query: record(
      {
        path: described({ ...TEXT, minLength: 1 }, "Path of the endpoint."),
        column: described(
          { ...TEXT, minLength: 1 },
          "A column of its rows; a group where it serves no rows.",
        ),
      },
      {
        prefix: {
          ...TEXT,
          maxLength: DEFAULT_MAX_LENGTH,
          description: "Only values that begin with this text, in any letter case.",
        },
        limit: {
          ...INTEGER,
          ...{ minimum: 1, maximum: VALUES_PAGE.maxLimit, default: VALUES_PAGE.defaultLimit },
          description: "How many values at most.",
        },
      },
    ),
    responses: [jsonAnswer("The values.", named("ColumnValues"))],
  },
  handle: values,
};

export const VALUES_SCHEMA = record({
  values: listOf(
    {
      value: described(VALUE, "As rows have it; numbers of more than 15 digits are texts here."),
    },
    "The most frequent first; those of a group sorted. Texts of more than 1,000 characters are left out.",
    { rows: described(INTEGER, "Rows that have it; absent where the endpoint serves no rows.") },
  ),
  more: described(FLAG, "Whether there are others."),
});

async function values(exchange: Exchange, service: Service): Promise<Reply | HttpError | null> {
  const found = await requestedValues(exchange, service);
  return found === null || isHttpError(found) ? found : json(200, found);
}
