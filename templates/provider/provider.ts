/**
 * A whole provider of the ramp, with the standard library of Node.js only: sells USDC for US dollars in a sandbox, where each payment
 * arrives after a second. Run it with `KEY_ID=key SECRET=secret npx tsx provider.ts`, and try it with
 * `routewright ramp provider test --url http://127.0.0.1:8090 --key-id key --secret secret`.
 */
import { createHash, createHmac, randomUUID, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";

const { KEY_ID = "", SECRET = "", PORT = "8090" } = process.env;
if (KEY_ID === "" || SECRET === "") throw new Error("Set KEY_ID and SECRET.");

interface Order {
  readonly id: string;
  readonly onboardingId?: string;
  readonly movement: { readonly srcAmount: string; readonly src: { readonly currencyCode: string } };
  readonly callbackUrl: string;
}
interface Refund {
  readonly id: string;
  readonly amount: string;
  readonly reason: string;
}
interface Payment {
  readonly text: string;
  readonly order: Order | null;
  status: string;
  refunds: readonly Refund[];
}

/** An answer that is no success: a status, and why. */
class Refused extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

// In a database, with the money: both outlive a restart.
const onboardings = new Map<string, { readonly order: Order; isChecked: boolean }>();
const payments = new Map<string, Payment>();

const CAPABILITIES = {
  code: "example",
  name: "Example Payments",
  logo: null,
  sandbox: true,
  refunds: true,
  requirements: [{ code: "KYC", title: "Identity" }],
  rails: [{ code: "ACH", title: "ACH", properties: {}, required: [] }],
  pairs: [
    {
      srcCurrencyCode: "USD",
      destCurrencyCode: "USDC_POLYGON",
      rail: "ACH",
      countries: ["US"],
      minSrcAmount: "10.00",
      maxSrcAmount: "5000.00",
    },
  ],
};

/** Amounts are counted in cents: never in floating point. */
const cents = (amount: string): bigint => {
  const [whole = "", part = ""] = amount.split(".");
  return BigInt(whole + part.padEnd(2, "0").slice(0, 2));
};
const dollars = (amount: bigint): string =>
  `${String(amount / 100n)}.${String(amount % 100n).padStart(2, "0")}`;

const FEE = 100n;
const price = (srcAmount: string) => ({
  exchangeRate: "1",
  fees: {
    currencyCode: "USD",
    totalFee: dollars(FEE),
    networkFee: "0.00",
    processingFee: dollars(FEE),
    partnerFee: "0.00",
  },
  destAmount: `${dollars(cents(srcAmount) - FEE)}0000`,
});

function quote(asked: { srcCurrencyCode: string; destCurrencyCode: string; srcAmount: string }): unknown {
  const isOffered = asked.srcCurrencyCode === "USD" && asked.destCurrencyCode === "USDC_POLYGON";
  if (!isOffered) return { quote: null };
  return { quote: { rail: "ACH", hasIndicativePrice: true, ...price(asked.srcAmount) } };
}

const FORM = { type: "object", properties: { fullName: { type: "string" } }, required: ["fullName"] };

function onboardingOf(id: string): unknown {
  const { isChecked } = known(onboardings, id);
  const check = { code: "KYC", title: "Identity", failureReason: null };
  const state = isChecked ? { status: "COMPLETED", form: null } : { status: "PENDING", form: FORM };
  return { id, requirements: [{ ...check, ...state }] };
}

function paymentOf(id: string): unknown {
  const { order, status, refunds } = known(payments, id);
  const answer = { id, reference: `example-${id}`, status, failureReason: null };
  if (order === null) return { ...answer, instructions: [] };
  const { srcAmount: amount } = order.movement;
  const details = { beneficiary: "Example Payments", reference: id, rail: "ACH", currency: "USD", amount };
  const { destAmount: amountReceived, exchangeRate, fees } = price(amount);
  const isPaid = status === "SUCCESS" || status === "REFUNDED";
  return {
    ...answer,
    instructions: [{ encoding: "DISPLAY", type: "BANK", details }],
    ...(isPaid && { receipt: { amountReceived, exchangeRate, fees }, refunds }),
  };
}

/** The same id again is the same order, and never a second payment. */
function pay(order: Order, text: string): void {
  const before = payments.get(order.id);
  if (before === undefined) {
    payments.set(order.id, { text, order, status: "AWAITING_FUNDS", refunds: [] });
    setTimeout(() => void move(order, "AWAITING_FUNDS", "SUCCESS"), 1_000);
  } else if (before.order !== null && before.text !== text)
    throw new Refused(409, "OTHER_ORDER", "The id is that of another order.");
}

/** A cancel can overtake its order, which is never carried out then. */
function cancel(id: string): void {
  const payment = payments.get(id);
  if (payment === undefined) payments.set(id, { text: "", order: null, status: "CANCELLED", refunds: [] });
  else if (payment.status === "AWAITING_FUNDS") payment.status = "CANCELLED";
  else if (payment.status !== "CANCELLED") throw new Refused(409, "TOO_LATE", "The payment has been made.");
}

function refund(id: string, { id: refundId, amount, reason }: Refund): void {
  const payment = known(payments, id);
  if (payment.refunds.some((made) => made.id === refundId)) return;
  const refunds = [...payment.refunds, { id: refundId, amount, reason }];
  const left = refunds.reduce(
    (sum, made) => sum - cents(made.amount),
    cents(payment.order?.movement.srcAmount ?? "0"),
  );
  if (payment.status !== "SUCCESS" || left < 0n)
    throw new Refused(422, "NOT_REFUNDABLE", "So much is not left.");
  payment.refunds = refunds;
  if (left === 0n) payment.status = "REFUNDED";
}

function known<T>(all: ReadonlyMap<string, T>, id: string): T {
  const found = all.get(id);
  if (found === undefined) throw new Refused(404, "UNKNOWN_ORDER", "There is no order of this id.");
  return found;
}

/** Tells the ramp, which then looks the order up; without callbacks it looks less often. */
async function move(order: Order, from: string, to: string): Promise<void> {
  const payment = payments.get(order.id);
  if (payment?.status !== from) return;
  payment.status = to;
  const body = JSON.stringify({ type: "execution.updated", onboardingId: order.onboardingId });
  const [id, seconds] = [randomUUID(), String(Math.floor(Date.now() / 1000))];
  const signature = createHmac("sha256", SECRET).update(`${id}.${seconds}.${body}`).digest("base64");
  const headers = { "webhook-id": id, "webhook-timestamp": seconds, "webhook-signature": `v1,${signature}` };
  await fetch(order.callbackUrl, { method: "POST", body, headers }).catch(() => undefined);
}

/** A signature covers time, method, path, idempotency key and body; five minutes old it counts no longer. */
function isSigned(request: IncomingMessage, body: string): boolean {
  const header = (name: string): string => String(request.headers[name] ?? "");
  const [timestamp, key] = [header("x-provider-timestamp"), header("idempotency-key")];
  const digest = createHash("sha256").update(body).digest("hex");
  const lines = [timestamp, request.method, request.url, key, digest].join("\n");
  const expected = Buffer.from(`v1=${createHmac("sha256", SECRET).update(lines).digest("hex")}`);
  const given = Buffer.from(header("x-provider-signature"));
  const isRecent = Math.abs(Date.now() / 1000 - Number(timestamp)) <= 300;
  const isEqual = expected.length === given.length && timingSafeEqual(expected, given);
  return isRecent && isEqual && header("x-provider-key-id") === KEY_ID;
}

function answer(request: IncomingMessage, text: string): unknown {
  if (!isSigned(request, text)) throw new Refused(401, "UNAUTHORIZED", "The signature is wrong.");
  const [resource, id = "", action] = (request.url ?? "").slice(1).split("/");
  const body: unknown = text === "" ? null : JSON.parse(text);
  switch (`${request.method ?? ""} ${resource ?? ""}/${id && "{id}"}/${action ?? ""}`) {
    case "GET capabilities//":
      return CAPABILITIES;
    case "POST quotes//":
      return quote(body as Parameters<typeof quote>[0]);
    case "POST onboardings//": {
      const order = body as Order;
      if (!onboardings.has(order.id)) onboardings.set(order.id, { order, isChecked: false });
      return onboardingOf(order.id);
    }
    case "GET onboardings/{id}/":
      return onboardingOf(id);
    case "POST onboardings/{id}/requirements":
      known(onboardings, id).isChecked = true;
      return onboardingOf(id);
    case "POST executions//":
      pay(body as Order, text);
      return paymentOf((body as Order).id);
    case "GET executions/{id}/":
      return paymentOf(id);
    case "POST executions/{id}/cancel":
      cancel(id);
      return paymentOf(id);
    case "POST executions/{id}/refunds":
      refund(id, body as Refund);
      return paymentOf(id);
    default:
      throw new Refused(404, "NOT_FOUND", "There is no such path.");
  }
}

const server = createServer((request, response) => {
  const parts: Buffer[] = [];
  request.on("data", (part: Buffer) => parts.push(part));
  request.on("end", () => {
    const send = (status: number, body: unknown): void =>
      void response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    try {
      send(200, answer(request, Buffer.concat(parts).toString()));
    } catch (error) {
      if (error instanceof Refused) send(error.status, { error: error.code, message: error.message });
      else send(500, { error: "INTERNAL", message: String(error) });
    }
  });
});
server.listen(Number(PORT), "127.0.0.1", () => {
  const address = server.address();
  if (typeof address === "object") console.log(`http://127.0.0.1:${String(address?.port)}`);
});
