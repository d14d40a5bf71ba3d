import { createServer } from "node:http";
import { atEnd } from "../../support/at-end.js";
import type {
  Capabilities,
  Execution,
  Fees,
  Movement,
  ProviderQuote,
  QuoteRequest,
  Refund,
} from "../../../runtime/ramp/providers/protocol.js";
import { connectProvider } from "../../../runtime/ramp/operator/integrations.js";
import type { Outcome } from "../../../runtime/model/outcome.js";
import { listening } from "./server.js";
import type { TestProject, World } from "./world.js";

const PAIR = {
  srcCurrencyCode: "USD",
  destCurrencyCode: "USDC_POLYGON",
  countries: ["US"],
  minSrcAmount: "1",
  maxSrcAmount: "1000",
};

/** Capabilities: cards and wires, which the ramp has no list of. */
export const CARD_CAPABILITIES: Capabilities = {
  code: "cards",
  name: "Cards",
  logo: null,
  requirements: [],
  rails: [
    {
      code: "CARD",
      title: "Card",
      properties: { cardToken: { type: "string", pattern: "^tok_[a-z0-9]{4,40}$" } },
      required: ["cardToken"],
    },
    {
      code: "WIRE",
      title: "Wire",
      properties: {
        bic: { type: "string", pattern: "^[A-Z0-9]{8,11}$" },
        accountNumber: { type: "string", pattern: "^[0-9]{4,17}$" },
      },
      required: ["bic", "accountNumber"],
    },
  ],
  pairs: [
    { ...PAIR, rail: "CARD" },
    { ...PAIR, rail: "WIRE" },
  ],
};

export const FEES: Fees = {
  currencyCode: "USD",
  totalFee: "1.00",
  networkFee: "0.00",
  processingFee: "1.00",
  partnerFee: "0.00",
};

/** What each rail pays for 100.00: the card pays more. */
const DEST_AMOUNTS: Readonly<Record<string, string>> = { CARD: "99.000000", WIRE: "98.000000" };

export interface CardProvider {
  readonly url: string;
  capabilities: Capabilities;
  /** How long the provider holds a price; null: it holds none. */
  holdMs: number | null;
  /** Whether it answers requests of quotes. */
  quotes: boolean;
  /** The movements of the orders that it received. */
  readonly ordered: Movement[];
  /** The state of every execution. */
  status: Execution["status"];
  /** Awaited between the reading of an execution's state and its answer. */
  answerLookUp: () => Promise<void>;
  /** Awaited before an order is answered. */
  answerOrder: () => Promise<void>;
  /** What answers about executions say beside id, reference and status. */
  execution: Partial<Execution>;
  /** The bytes of an answer. */
  encode: (text: string) => Buffer;
  /** So many of the next orders of an execution are received, but the connection is dropped. */
  dropOrders: number;
  /** Whether it refuses refunds, and knows no order that is cancelled. */
  refusesRefunds: boolean;
  refusesCancels: boolean;
  /** Ids of the executions that it knows. */
  readonly received: Set<string>;
  /** The key id that it accepts; requests with another get 401. */
  keyId: string;
  /** The bodies of the requests with an idempotency key, by key. */
  readonly bodies: Map<string, string[]>;
  connect(
    world: Pick<World, "database" | "vault">,
    project: Pick<TestProject, "id">,
  ): Promise<Outcome<{ readonly providerId: string }>>;
}

/** A provider of a test file's own that is no part of the sandbox. */
export async function ownCardProvider(): Promise<CardProvider> {
  const quote = ({ rail }: QuoteRequest): ProviderQuote => ({
    rail: rail ?? "CARD",
    hasIndicativePrice: provider.holdMs === null,
    destAmount: DEST_AMOUNTS[rail ?? "CARD"] ?? "1.000000",
    exchangeRate: "1",
    fees: FEES,
    ...(provider.holdMs === null
      ? {}
      : {
          quoteId: `held-${rail ?? "CARD"}`,
          expiresAt: new Date(Date.now() + provider.holdMs).toISOString(),
        }),
  });
  const answer = (path: string, body: unknown): unknown => {
    if (path === "/capabilities") return provider.capabilities;
    if (path === "/quotes") return { quote: quote(body as QuoteRequest) };
    const [, resource, named = ""] = path.split("/");
    const order = body as { id: string; movement: Movement } | null;
    if (order?.movement) provider.ordered.push(order.movement);
    const id = named === "" ? (order?.id ?? "") : named;
    if (resource === "onboardings") return { id, requirements: [] };
    if (path.endsWith("/refunds")) {
      const known = (provider.execution.refunds ?? []).filter((refund) => refund.id !== (body as Refund).id);
      provider.execution = { ...provider.execution, refunds: [...known, body as Refund] };
    }
    const { status, execution } = provider;
    return { id, reference: "r", status, failureReason: null, instructions: [], ...execution };
  };
  const server = createServer((request, response) => {
    let text = "";
    request.on("data", (chunk: Buffer) => (text += chunk.toString()));
    request.on("end", () => {
      const body = JSON.stringify(answer(request.url ?? "", text === "" ? null : JSON.parse(text)));
      if (request.headers["x-provider-key-id"] !== provider.keyId)
        return void response
          .writeHead(401)
          .end(JSON.stringify({ error: "UNAUTHORIZED", message: "Unknown key." }));
      const key = String(request.headers["idempotency-key"] ?? "");
      if (key !== "") provider.bodies.set(key, [...(provider.bodies.get(key) ?? []), text]);
      if (request.url === "/quotes" && !provider.quotes) return void response.writeHead(503).end();
      if (key.startsWith("execution:") && provider.dropOrders > 0) {
        provider.dropOrders--;
        return void response.destroy();
      }
      if (key.startsWith("execution:")) provider.received.add((JSON.parse(text) as { id: string }).id);
      const error = (status: number, code: string) =>
        void response.writeHead(status).end(JSON.stringify({ error: code, message: "" }));
      if (provider.refusesRefunds && key.startsWith("refund:")) return error(422, "NOT_REFUNDABLE");
      if (provider.refusesCancels && request.url?.endsWith("/cancel")) return error(404, "UNKNOWN_ORDER");
      const isLookUp = request.method === "GET" && request.url?.startsWith("/executions/") === true;
      if (isLookUp && !provider.received.has(request.url?.split("/")[2] ?? ""))
        return error(404, "UNKNOWN_ORDER");
      void (isLookUp ? provider.answerLookUp() : key ? provider.answerOrder() : Promise.resolve()).then(() =>
        response.writeHead(200, { "content-type": "application/json" }).end(provider.encode(body)),
      );
    });
  });
  atEnd(() => void server.close());
  const url = await listening(server);
  const provider: CardProvider = {
    url,
    capabilities: CARD_CAPABILITIES,
    holdMs: null,
    quotes: true,
    ordered: [],
    status: "PROCESSING",
    answerLookUp: () => Promise.resolve(),
    answerOrder: () => Promise.resolve(),
    execution: {},
    encode: (text) => Buffer.from(text),
    dropOrders: 0,
    refusesRefunds: false,
    refusesCancels: false,
    received: new Set(),
    keyId: "key",
    bodies: new Map(),
    connect: ({ database, vault }, { id }) =>
      connectProvider(database, vault, id, {
        provider: "cards",
        url,
        keyId: provider.keyId,
        secret: "secret",
      }),
  };
  return provider;
}

/** The body of an on-ramp over a card. */
export function cardOnramp(more: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  return {
    src: { currencyCode: "USD", details: { countryCode: "US", rail: "CARD", cardToken: "tok_abcd" } },
    dest: { currencyCode: "USDC_POLYGON", details: { address: `0x${"12".repeat(20)}` } },
    srcAmount: "100.00",
    autoExecute: true,
    ...more,
  };
}
