import { Ajv, type ErrorObject, type ValidateFunction } from "ajv";
import { httpError, type HttpError, isHttpError, type Result } from "../../../core/model/errors.js";
import type { Schema, ValueOf } from "../../../core/model/schema.js";
import type { Exchange } from "../../../core/handler/exchange.js";
import { readBodyText } from "../../../core/handler/resolve.js";
import { queryOf } from "../../../core/http/route.js";
import { isStorable } from "../storable.js";
import { readJson } from "../../../core/request/request-fields.js";

const ajv = new Ajv({ allErrors: false, useDefaults: true, strict: false });
const queryAjv = new Ajv({ allErrors: false, useDefaults: true, coerceTypes: true, strict: false });
/** Bounded by the schemas of the routes. */
const validators = new Map<Schema, ValidateFunction>();

/** The JSON body, as its schema says, with its text; null when the client disconnected while sending. */
export async function bodyOf<S extends Schema>(
  { request, context }: Exchange,
  schema: S,
): Promise<Result<{ readonly text: string; readonly value: ValueOf<S> }> | null> {
  const text = await readBodyText(request, context.caller);
  if (typeof text !== "string") return text;
  const read = text.trim() === "" ? { json: {} } : readJson(text);
  if (isHttpError(read)) return read;
  if (typeof read.json !== "object" || read.json === null || Array.isArray(read.json))
    return httpError("bodyNotObject");
  if (!isStorable(read.json)) return httpError("valueNotOfType", UNSTORABLE);
  const problem = problemOf(ajv, schema, read.json, "unsupportedBody");
  return problem ?? { text, value: read.json as ValueOf<S> };
}

/** The parameters of the query string, as their schema says; the last of a name counts. */
export function parametersIn<S extends Schema>({ request }: Exchange, schema: S): Result<ValueOf<S>> {
  const value = Object.fromEntries(queryOf(request));
  if (!isStorable(value)) return httpError("valueNotOfType", UNSTORABLE);
  return problemOf(queryAjv, schema, value, "unsupportedQuery") ?? (value as ValueOf<S>);
}

const UNSTORABLE = { name: "body", type: "text without U+0000 and lone surrogates" };

function problemOf(
  compiler: Ajv,
  schema: Schema,
  value: unknown,
  unknownNames: "unsupportedBody" | "unsupportedQuery",
): HttpError | null {
  const validate = validators.get(schema) ?? compiler.compile(schema);
  validators.set(schema, validate);
  if (validate(value)) return null;
  const [error] = validate.errors ?? [];
  return errorOf(error as ErrorObject, unknownNames);
}

function errorOf(
  { keyword, params, instancePath, message = "" }: ErrorObject,
  unknownNames: "unsupportedBody" | "unsupportedQuery",
): HttpError {
  const { additionalProperty, missingProperty, allowedValues } = params as Readonly<Record<string, unknown>>;
  if (keyword === "additionalProperties")
    return httpError(unknownNames, { names: String(additionalProperty).slice(0, 100) });
  if (keyword === "required") return httpError("parameterRequired", { name: String(missingProperty) });
  const name = instancePath.split("/")[1] ?? "body";
  if (keyword === "enum")
    return httpError("valueNotAccepted", { name, values: (allowedValues as string[]).join(", ") });
  return httpError("valueNotOfType", { name, type: `what OpenAPI says of it: it ${message}` });
}
