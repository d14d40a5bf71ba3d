import type { TSchema } from "@sinclair/typebox";
import { Callback, OPERATIONS, type OperationName, ProviderError } from "./protocol.js";
import { REQUEST_HEADERS, SIGNATURE_TOLERANCE_SECONDS } from "./signature.js";

type Json = Readonly<Record<string, unknown>>;

const SUMMARIES: Readonly<Record<OperationName, string>> = {
  capabilities: "What the provider moves, within which limits, and what it asks of customers",
  quote: "An indicative quote; null for a path that is not offered",
  startOnboarding: "File an onboarding under the intent's id, or get the one that is filed",
  onboarding: "How an onboarding stands",
  submit: "Hand in what a requirement's form asks for",
  execute: "File an execution under the transaction's id, or get the one that is filed",
  execution: "How an execution stands",
  cancel:
    "Let go of an execution whose money has not arrived; one that was never filed is refused from then on",
};

const DESCRIPTION = `What the ramp asks of a provider's server.

Each request is signed: \`${REQUEST_HEADERS.signature}\` is \`v1=\` and the HMAC-SHA256, in hexadecimal, with the credential's secret over
the lines \`${REQUEST_HEADERS.timestamp}\` (seconds since 1970), method, path with query, \`Idempotency-Key\` (empty without one) and SHA-256 of the
body in hexadecimal, joined by line feeds. A request more than ${String(SIGNATURE_TOLERANCE_SECONDS)} seconds off is refused.

Asking twice is asking once: orders carry ids of the ramp's, and an \`Idempotency-Key\` that follows from them. 400, 403, 404, 409, 410 and 422
refuse an order for good; after anything else the ramp asks again.

News is told by a POST to the order's \`callbackUrl\`, signed as Standard Webhooks are with the same secret.`;

/** The provider protocol as an OpenAPI 3.1 document, for whoever writes a provider's server. */
export function protocolDocument(): Json {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const name of Object.keys(OPERATIONS) as OperationName[]) {
    const { method, path } = OPERATIONS[name];
    (paths[path] ??= {})[method.toLowerCase()] = operationOf(name);
  }
  return {
    openapi: "3.1.0",
    info: { title: "Routewright Ramp: provider protocol", version: "1.0.0", description: DESCRIPTION },
    paths,
    webhooks: { news: { post: newsOperation() } },
    components: {
      securitySchemes: { signature: { type: "apiKey", in: "header", name: REQUEST_HEADERS.signature } },
    },
    security: [{ signature: [] }],
  };
}

function operationOf(name: OperationName): Json {
  const { path, request, answer, keyed } = OPERATIONS[name];
  return {
    operationId: name,
    summary: SUMMARIES[name],
    parameters: [...pathParameters(path), ...signatureHeaders(keyed)],
    ...(request === null ? {} : { requestBody: { required: true, content: content(request) } }),
    responses: {
      "200": { description: "How it stands now.", content: content(answer) },
      "4XX": { description: "Refused.", content: content(ProviderError) },
    },
  };
}

function newsOperation(): Json {
  return {
    operationId: "news",
    summary:
      "Something has happened to an order: the ramp asks how it stands. Order and number of callbacks do not matter",
    requestBody: { required: true, content: content(Callback) },
    responses: {
      "200": { description: "Taken note of." },
      "401": { description: "Not signed, or too old." },
    },
  };
}

function pathParameters(path: string): readonly Json[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: "path",
    required: true,
    schema: { type: "string" },
  }));
}

function signatureHeaders(keyed: boolean): readonly Json[] {
  const names = [REQUEST_HEADERS.keyId, REQUEST_HEADERS.timestamp, ...(keyed ? ["idempotency-key"] : [])];
  return names.map((name) => ({ name, in: "header", required: true, schema: { type: "string" } }));
}

function content(schema: TSchema): Json {
  return { "application/json": { schema: JSON.parse(JSON.stringify(schema)) as Json } };
}
