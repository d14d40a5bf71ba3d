import { type Schema, type ValueOf } from "@routewright/runtime/internal/core/model/schema.js";
import {
  Callback,
  Capabilities,
  Execution,
  ExecutionOrder,
  Onboarding,
  OnboardingOrder,
  ProviderError,
  QuoteAnswer,
  QuoteRequest,
  RefundOrder,
  Submission,
} from "./protocol.js";
import { type JsonRecord, pathsObject, plainJson } from "@routewright/runtime/internal/core/http/openapi.js";
import { DepositAccount, DepositAccountOrder } from "./deposit-messages.js";
import { ruleText } from "./calls.js";
import { REQUEST_HEADERS, SIGNATURE_TOLERANCE_SECONDS } from "./signature.js";

/** The operations: method, path, messages, and whether the request carries an `Idempotency-Key`. */
export const OPERATIONS = {
  capabilities: { method: "GET", path: "/capabilities", request: null, answer: Capabilities, keyed: false },
  quote: { method: "POST", path: "/quotes", request: QuoteRequest, answer: QuoteAnswer, keyed: false },
  startOnboarding: {
    method: "POST",
    path: "/onboardings",
    request: OnboardingOrder,
    answer: Onboarding,
    keyed: true,
  },
  onboarding: { method: "GET", path: "/onboardings/{id}", request: null, answer: Onboarding, keyed: false },
  submit: {
    method: "POST",
    path: "/onboardings/{id}/requirements/{code}",
    request: Submission,
    answer: Onboarding,
    keyed: false,
  },
  execute: { method: "POST", path: "/executions", request: ExecutionOrder, answer: Execution, keyed: true },
  execution: { method: "GET", path: "/executions/{id}", request: null, answer: Execution, keyed: false },
  cancel: { method: "POST", path: "/executions/{id}/cancel", request: null, answer: Execution, keyed: false },
  refund: {
    method: "POST",
    path: "/executions/{id}/refunds",
    request: RefundOrder,
    answer: Execution,
    keyed: true,
  },
  cancelRefund: {
    method: "POST",
    path: "/executions/{id}/refunds/{refundId}/cancel",
    request: null,
    answer: Execution,
    keyed: false,
  },
  openDepositAccount: {
    method: "POST",
    path: "/deposit-accounts",
    request: DepositAccountOrder,
    answer: DepositAccount,
    keyed: true,
  },
  depositAccount: {
    method: "GET",
    path: "/deposit-accounts/{id}",
    query: ["after"],
    request: null,
    answer: DepositAccount,
    keyed: false,
  },
  closeDepositAccount: {
    method: "POST",
    path: "/deposit-accounts/{id}/close",
    request: null,
    answer: DepositAccount,
    keyed: false,
  },
} as const satisfies Readonly<Record<string, ProviderOperation>>;

interface ProviderOperation {
  readonly method: "GET" | "POST";
  readonly path: string;
  /** Optional parameters of the query. */
  readonly query?: readonly string[];
  readonly request: Schema | null;
  readonly answer: Schema;
  readonly keyed: boolean;
}

export type OperationName = keyof typeof OPERATIONS;
export type ResponseOf<N extends OperationName> = ValueOf<(typeof OPERATIONS)[N]["answer"]>;

type ParameterOf<Path> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParameterOf<Rest>
  : never;
type PathOf<N extends OperationName> = Readonly<Record<ParameterOf<(typeof OPERATIONS)[N]["path"]>, string>>;

/** What the path of an operation names; an operation whose path names nothing has none. */
export interface TargetOf<N extends OperationName> {
  readonly path?: PathOf<N>;
  readonly query?: Readonly<Record<string, string>>;
}

/** Path and query of a call, percent-encoded: a provider's own id is any text. */
export function targetOf<N extends OperationName>(
  name: N,
  path: TargetOf<N>["path"],
  query: Readonly<Record<string, string>> = {},
): string {
  const values = path as Readonly<Record<string, string>> | undefined;
  const target = OPERATIONS[name].path.replace(/\{(\w+)\}/g, (whole, parameter: string) =>
    encodeURIComponent(values?.[parameter] ?? whole),
  );
  const text = new URLSearchParams(query).toString();
  return text === "" ? target : `${target}?${text}`;
}

/** Error code of a provider that has no order of this id. */
export const UNKNOWN_ORDER = "UNKNOWN_ORDER";

const SUMMARIES: Readonly<Record<OperationName, string>> = {
  capabilities: "Currency pairs, limits and requirements of the provider",
  quote: "A quote, held or indicative; null for a path that is not offered",
  startOnboarding: "Create the onboarding of an intent, or get the existing one",
  onboarding: "State of an onboarding",
  submit: "Submit the form of a requirement",
  execute: "Create the execution of a transaction, or get the existing one",
  execution: "State of an execution",
  refund: "Refund a payment or a part of it; only where the capabilities say `refunds`",
  cancelRefund:
    "Cancel a refund whose money has not left; an unknown id is refused from then on; only where the capabilities say `refundCancels`",
  openDepositAccount:
    "Open a deposit account, or get the existing one; only where the capabilities say `depositAccounts`",
  depositAccount: "State of a deposit account, and the payments that arrived after one",
  closeDepositAccount:
    "Close a deposit account: what arrives later goes back to its sender; an unknown id is refused from then on",
  cancel: "Cancel an execution whose money has not arrived; an unknown id is refused from then on",
};

const DESCRIPTION = `What the ramp requires of a provider server.

Each request is signed: \`${REQUEST_HEADERS.signature}\` is \`v1=\` and the HMAC-SHA256, in hexadecimal, with the credential's secret over
the lines \`${REQUEST_HEADERS.timestamp}\` (seconds since 1970), method, path with query, \`Idempotency-Key\` (empty without one) and SHA-256 of the
body in hexadecimal, joined by line feeds. A request more than ${String(SIGNATURE_TOLERANCE_SECONDS)} seconds off is refused.

Repeating an order changes nothing: orders carry ids of the ramp's, and an \`Idempotency-Key\` derived from them. 400, 409, 410 and 422 with
an error body refuse an order, provided that a look-up then answers 404 with the error \`UNKNOWN_ORDER\`. All other answers, 403 and 404 of a
gateway included, decide nothing: the ramp looks the order up and tries again.

A cancelled execution that never arrived must be refused for good, so that a delayed order cannot be carried out afterwards. After SUCCESS
the ramp keeps looking for 60 days, and as well after FAILED and CANCELLED. Returns and refunds are listed in \`refunds\`, with a \`status\` where they can still change; REFUNDED means that nothing is left.
Where the answer to a quote has a \`quoteId\`, orders name it. An onboarding that names it before its \`expiresAt\` accepts the price, which holds until the payment, or until the
\`priceExpiresAt\` that the onboarding's answers say. Then an execution names a newer quote than its onboarding. An order that is refused for its price (\`reason\` \`PRICE\`) leaves no
trace: the same id comes again with another quote. What is refused for its price once is refused for good, so that a delayed copy of it is no payment.

A refund that is taken is listed within 5 days, under the id of its order, or under one of your own with the order's as \`orderId\`.

Where the capabilities say \`depositAccounts\`, a customer gets standing instructions: whatever arrives there is an execution of yours, which the account
lists as a deposit with its price, and whose state, refunds included, is looked up under the deposit's id. What cannot be carried out has no price, and goes back
to its sender as a refund of the execution.

A check or a payment can be on a page of your own: \`url\` of a requirement, or of an instruction with the encoding \`REDIRECT\`. The ramp adds the
query parameter \`return_url\`; send the customer there when it is done, and nowhere but to the origin of the order's \`callbackUrl\`.

A POST to the order's \`callbackUrl\`, signed like Standard Webhooks with the same secret, makes the ramp look the order up at once.`;

/** The provider protocol as an OpenAPI 3.1 document, for authors of a provider server. */
export function protocolDocument(): unknown {
  const names = Object.keys(OPERATIONS) as OperationName[];
  return plainJson({
    openapi: "3.1.0",
    info: { title: "Routewright Ramp: provider protocol", version: "1.0.0", description: DESCRIPTION },
    paths: pathsObject(
      names.map((name) => [OPERATIONS[name].path, OPERATIONS[name].method, operationOf(name)]),
    ),
    webhooks: { orderUpdated: { post: callbackOperation() } },
    components: {
      securitySchemes: { signature: { type: "apiKey", in: "header", name: REQUEST_HEADERS.signature } },
    },
    security: [{ signature: [] }],
  });
}

function operationOf(name: OperationName): JsonRecord {
  const { path, query = [], request, answer, keyed }: ProviderOperation = OPERATIONS[name];
  return {
    operationId: name,
    summary: SUMMARIES[name],
    description: ruleText(name),
    parameters: [
      ...pathParameters(path),
      ...query.map(queryParameter),
      ...signatureHeaders(keyed ? ["idempotency-key"] : []),
    ],
    ...(request === null ? {} : { requestBody: { required: true, content: content(request) } }),
    responses: {
      "200": {
        description: "Current state; any status from 200 to 299 says the same.",
        content: content(answer),
      },
      "4XX": { description: "Refused.", content: content(ProviderError) },
    },
  };
}

function callbackOperation(): JsonRecord {
  return {
    operationId: "orderUpdated",
    summary: "An order has changed: the ramp looks it up. Order and number of callbacks do not matter",
    requestBody: { required: true, content: content(Callback) },
    responses: { "200": { description: "Received." }, "401": { description: "Not signed, or too old." } },
  };
}

export function pathParameters(path: string): readonly JsonRecord[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => ({
    name,
    in: "path",
    required: true,
    schema: { type: "string" },
  }));
}

function queryParameter(name: string): JsonRecord {
  return { name, in: "query", required: false, schema: { type: "string" } };
}

function signatureHeaders(more: readonly string[]): readonly JsonRecord[] {
  const names = [...Object.values(REQUEST_HEADERS), ...more];
  return names.map((name) => ({ name, in: "header", required: true, schema: { type: "string" } }));
}

function content(schema: Schema): JsonRecord {
  return { "application/json": { schema: JSON.parse(JSON.stringify(schema)) as JsonRecord } };
}
