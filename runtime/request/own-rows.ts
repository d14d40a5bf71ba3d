import type { Endpoint } from "../model/endpoint.js";
import { type HttpError, httpError, type Result } from "../model/errors.js";
import type { Condition } from "../model/query.js";
import { ALL_ORGS } from "./keyring.js";

/** Name of the condition on the caller's organization; no parameter contains U+0000. */
const OWN_ROWS = "\0org";

/** The condition on the caller's rows; null where the caller may read all of them. */
export function ownRows({ rows }: Endpoint, org: string | null): Result<Condition> | null {
  if (rows === undefined || org === ALL_ORGS) return null;
  if (org === null) return httpError("organizationRequired");
  return { name: OWN_ROWS, column: rows.column, operator: "=", type: "string", value: org };
}

/** The error of a condition, as the caller gets it: an organization that the column cannot hold has no rows. */
export function conditionError(error: HttpError): HttpError {
  return error.parameter === OWN_ROWS ? httpError("organizationRequired") : error;
}
