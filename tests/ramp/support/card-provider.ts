import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { listen } from "../../support/port.js";
import type {
  Capabilities,
  Execution,
  Fees,
  Movement,
  Onboarding,
  ProviderQuote,
  ProviderRequirement,
  QuoteRequest,
  Refund,
} from "../../../runtime/ramp/providers/protocol.js";
import type { DepositAccount } from "../../../runtime/ramp/providers/deposit-messages.js";
import { connectProvider, type NewConnection } from "../../../runtime/ramp/operator/integrations.js";
import { made, newCustomer, type TestProject, type World } from "./world.js";

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

/** What a wire costs more than a card. */
const WIRE_FEES: Fees = { ...FEES, totalFee: "2.00", networkFee: "1.00" };

/** A provider that is no part of the sandbox. */
export class CardProvider {
  url = "";
  capabilities: Capabilities = CARD_CAPABILITIES;
  /** What each rail pays for 100.00: the card pays more. */
  destAmounts: Readonly<Record<string, string>> = { CARD: "99.000000", WIRE: "98.000000" };
  /** What a card costs. */
  fees: Fees = FEES;
  /** How long the provider holds a price; null: it holds none. */
  holdMs: number | null = null;
  /** What its quotes say otherwise. */
  offer: Partial<ProviderQuote> = {};
  /** Awaited before a quote is answered. */
  answerQuote: () => Promise<void> = () => Promise.resolve();
  /** Whether it answers requests of quotes. */
  quotes = true;
  /** What onboardings require, and how often they were looked up. */
  requirements: readonly ProviderRequirement[] = [];
  /** What answers about onboardings say beside id and requirements. */
  onboarding: Partial<Onboarding> = {};
  onboardingLookUps = 0;
  /** What refuses every onboarding; null: they are taken. */
  refusesOnboarding: { readonly error: string; readonly reason?: string } | null = null;
  /** What refuses every execution that it has none of; null: they are taken. */
  refusesExecution: { readonly error: string; readonly reason?: string } | null = null;
  /** Why it refuses forms; null: it takes them. */
  refusesForms: string | null = null;
  /** The bodies of forms. */
  readonly submitted: string[] = [];
  /** The countries of the quotes that it was asked for. */
  readonly quotedFor: (string | null)[] = [];
  /** The movements of the orders that it received. */
  readonly ordered: Movement[] = [];
  /** The state of every execution. */
  status: Execution["status"] = "PROCESSING";
  /** Awaited between the reading of an execution's state and its answer. */
  answerLookUp: () => Promise<void> = () => Promise.resolve();
  /** Awaited before an order is answered. */
  answerOrder: () => Promise<void> = () => Promise.resolve();
  /** Awaited before a cancel is answered. */
  answerCancel: () => Promise<void> = () => Promise.resolve();
  /** What answers about executions say beside id, reference and status. */
  execution: Partial<Execution> = {};
  /** The bytes of an answer. */
  encode: (text: string) => Buffer = (text) => Buffer.from(text);
  /** So many of the next orders of an execution are received, but the connection is dropped. */
  dropOrders = 0;
  /** Whether it refuses refunds, and knows no order that is cancelled. */
  refusesRefunds = false;
  refusesRefundCancels = false;
  /** How it lists a refund that it takes; null: not yet. */
  listRefund: (order: Refund) => Refund | null = (order) => order;
  refusesCancels = false;
  /** What it answers about every deposit account, beside the id. */
  depositAccount: Omit<DepositAccount, "id"> = { status: "ACTIVE", instructions: [], deposits: [] };
  /** Ids of the executions that it knows. */
  readonly received = new Set<string>();
  /** The key id that it accepts; requests with another get 401. */
  keyId = "key";
  /** The bodies of the requests with an idempotency key, by key. */
  readonly bodies = new Map<string, string[]>();

  get connection(): NewConnection {
    return { provider: "cards", url: this.url, keyId: this.keyId, secret: "secret" };
  }

  connect({ database, vault }: Pick<World, "database" | "vault">, { id }: Pick<TestProject, "id">) {
    return connectProvider(database, vault, id, this.connection);
  }

  #quote({ rail, countryCode }: QuoteRequest): ProviderQuote {
    this.quotedFor.push(countryCode);
    const { holdMs, fees } = this;
    return {
      rail: rail ?? "CARD",
      hasIndicativePrice: holdMs === null,
      destAmount: this.destAmounts[rail ?? "CARD"] ?? "1.000000",
      exchangeRate: "1",
      fees: rail === "WIRE" ? WIRE_FEES : fees,
      ...(holdMs !== null && {
        quoteId: `held-${rail ?? "CARD"}`,
        expiresAt: new Date(Date.now() + holdMs).toISOString(),
      }),
      ...this.offer,
    };
  }

  #answer(path: string, body: unknown): unknown {
    if (path === "/capabilities") return this.capabilities;
    if (path === "/quotes") return { quote: this.#quote(body as QuoteRequest) };
    const [, resource, named = ""] = path.split("/");
    const order = body as { id: string; movement: Movement } | null;
    if (order?.movement) this.ordered.push(order.movement);
    const id = named === "" ? (order?.id ?? "") : named;
    if (resource === "onboardings" && order === null) this.onboardingLookUps++;
    if (resource === "onboardings") return { id, requirements: this.requirements, ...this.onboarding };
    if (resource === "deposit-accounts") return { id: id.split("?")[0], ...this.depositAccount };
    if (path.endsWith("/refunds") && !this.refusesRefunds) this.#takeRefund(body as Refund);
    const cancelled = /\/refunds\/([^/]+)\/cancel$/.exec(path)?.[1];
    if (cancelled !== undefined && !this.refusesRefundCancels)
      this.endRefunds({ status: "CANCELLED" }, ({ id: listed }) => listed === decodeURIComponent(cancelled));
    const { status, execution } = this;
    return { id, reference: "r", status, failureReason: null, instructions: [], ...execution };
  }

  #takeRefund(order: Refund): void {
    const listed = this.listRefund(order);
    const known = this.execution.refunds ?? [];
    if (listed === null || known.some(({ id }) => id === listed.id)) return;
    this.execution = { ...this.execution, refunds: [...known, listed] };
  }

  /** Changes refunds that it lists. */
  endRefunds(change: Partial<Refund>, matches: (refund: Refund) => boolean = () => true): void {
    const refunds = this.execution.refunds ?? [];
    this.execution = {
      ...this.execution,
      refunds: refunds.map((refund) => (matches(refund) ? { ...refund, ...change } : refund)),
    };
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = "";
    for await (const chunk of request as AsyncIterable<Buffer>) text += chunk.toString();
    const { url: path = "", method, headers } = request;
    const refuse = (status: number, error: string, message = ""): void =>
      void response.writeHead(status).end(JSON.stringify({ error, message }));
    const body = JSON.stringify(this.#answer(path, text === "" ? null : JSON.parse(text)));
    if (headers["x-provider-key-id"] !== this.keyId) return refuse(401, "UNAUTHORIZED");
    if (path.includes("/requirements/")) {
      this.submitted.push(text);
      if (this.refusesForms !== null) return refuse(422, "INVALID_FIELDS", this.refusesForms);
    }
    const key = String(headers["idempotency-key"] ?? "");
    if (key !== "") this.bodies.set(key, [...(this.bodies.get(key) ?? []), text]);
    if (this.refusesOnboarding !== null && path.startsWith("/onboardings"))
      return method === "GET"
        ? refuse(404, "UNKNOWN_ORDER")
        : void response
            .writeHead(422)
            .end(JSON.stringify({ message: "Not here.", ...this.refusesOnboarding }));
    if (this.refusesExecution !== null && path === "/executions")
      return void response
        .writeHead(422)
        .end(JSON.stringify({ message: "Not now.", ...this.refusesExecution }));
    if (path === "/quotes") await this.answerQuote();
    if (path === "/quotes" && !this.quotes) return void response.writeHead(503).end();
    if (key.startsWith("execution:")) {
      if (this.dropOrders-- > 0) return void response.destroy();
      this.received.add((JSON.parse(text) as { id: string }).id);
    }
    if (this.refusesRefunds && key.startsWith("refund:")) return refuse(422, "NOT_REFUNDABLE");
    if (this.refusesRefundCancels && /\/refunds\/.*\/cancel$/.test(path)) return refuse(409, "TOO_LATE");
    if (this.refusesCancels && path.endsWith("/cancel")) return refuse(404, "UNKNOWN_ORDER");
    const isLookUp = method === "GET" && path.startsWith("/executions/");
    if (isLookUp && !this.received.has(path.split("/")[2] ?? "")) return refuse(404, "UNKNOWN_ORDER");
    if (isLookUp) await this.answerLookUp();
    else if (path.endsWith("/cancel")) await this.answerCancel();
    else if (key !== "") await this.answerOrder();
    response.writeHead(200, { "content-type": "application/json" }).end(this.encode(body));
  }
}

/** A provider of a test file's own. */
export async function ownCardProvider(settings: Partial<CardProvider> = {}): Promise<CardProvider> {
  const provider = Object.assign(new CardProvider(), settings);
  const server = createServer((request, response) => void provider.handle(request, response));
  provider.url = `http://${await listen(server)}`;
  return provider;
}

/** A provider of a test's own, connected to a project of its own that has a customer. */
export async function ownCards(world: World, settings: Partial<CardProvider> = {}) {
  const project = await world.project({ providers: [] });
  const provider = await ownCardProvider(settings);
  const { providerId } = made(await provider.connect(world, project));
  const auth = await newCustomer(world, project);
  const create = (more: Readonly<Record<string, unknown>> = {}) =>
    world.call("POST", "/v1/intent", { auth, body: cardOnramp(more) });
  return { project, provider, providerId, auth, create };
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
