/**
 * A whole provider of the ramp, with the standard library of Node.js only: sells USDC for US dollars in a sandbox, where each payment
 * arrives after a second, and one of 100.00 at each new deposit account. Run it with `KEY_ID=key SECRET=secret npx tsx provider.ts`, and try it with
 * `routewright ramp provider test --url http://127.0.0.1:8090 --key-id key --secret secret`.
 */
import { createHash, createHmac, randomUUID, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import { isDeepStrictEqual } from "node:util";

const { KEY_ID = "", SECRET = "", PORT = "8090" } = process.env;
if (KEY_ID === "" || SECRET === "") throw new Error("Set KEY_ID and SECRET.");

interface Order {
  readonly id: string;
  readonly onboardingId?: string;
  readonly movement: { readonly srcAmount: string; readonly quoteId?: string };
  readonly callbackUrl: string;
}
interface Refund {
  readonly id: string;
  readonly amount: string;
  readonly reason: string;
}
interface Payment {
  readonly order: Order | null;
  status: string;
  receipt?: object;
  refunds: readonly Refund[];
  /** Ids of refunds that were refused: a delayed copy of one is refused too. */
  readonly refused: Set<string>;
}
interface Account {
  readonly order: Omit<Order, "movement"> | null;
  readonly deposits: { readonly id: string; readonly srcAmount: string; readonly srcCurrencyCode: "USD" }[];
  isOpen: boolean;
}

/** An answer that is no success: a status, and why. */
class Refused extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly reason?: string,
  ) {
    super(message);
  }
}

// In a database, with the money: both outlive a restart.
const onboardings = new Map<string, { readonly order: Order; isChecked: boolean }>();
const payments = new Map<string, Payment>();
const accounts = new Map<string, Account>();

const [LEAST, MOST] = ["10.00", "5000.00"];

const CAPABILITIES = {
  code: "example",
  name: "Example Payments",
  logo: null,
  sandbox: true,
  refunds: true,
  depositAccounts: true,
  requirements: [{ code: "KYC", title: "Identity" }],
  rails: [{ code: "ACH", title: "ACH", properties: {}, required: [] }],
  pairs: [
    {
      srcCurrencyCode: "USD",
      destCurrencyCode: "USDC_POLYGON",
      rail: "ACH",
      countries: ["US"],
      minSrcAmount: LEAST,
      maxSrcAmount: MOST,
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

/** Orders under one id are the same where they move the same: a ramp that was restored can name another quote. */
function isSame({ movement }: Order, other: Order): boolean {
  return isDeepStrictEqual({ ...movement, quoteId: null }, { ...other.movement, quoteId: null });
}

/** The same id again is the same order, whose checks go on. */
function onboard(order: Order): void {
  const before = onboardings.get(order.id);
  if (before === undefined) onboardings.set(order.id, { order, isChecked: false });
  else if (!isSame(before.order, order))
    throw new Refused(409, "OTHER_ORDER", "The id is that of another order.");
}

/** A form that is sent again changes nothing. */
function submit(id: string, code: string): void {
  const onboarding = known(onboardings, id);
  if (code !== "KYC") throw new Refused(422, "UNKNOWN_CHECK", "There is no check of this code.");
  onboarding.isChecked = true;
}

const BANK = { beneficiary: "Example Payments", rail: "ACH", currency: "USD" };

function paymentOf(id: string): unknown {
  const { order, status, receipt, refunds } = known(payments, id);
  const answer = { id, reference: `example-${id}`, status, failureReason: null };
  if (order === null) return { ...answer, instructions: [] };
  const details = { ...BANK, reference: id, amount: order.movement.srcAmount };
  const isAwaited = status === "AWAITING_FUNDS";
  const instructions = isAwaited ? [{ encoding: "DISPLAY", type: "BANK", details }] : [];
  return { ...answer, instructions, ...(receipt && { receipt }), refunds };
}

/** The same id again is the same order, and never a second payment. */
function pay(order: Order): void {
  const before = payments.get(order.id);
  if (before === undefined) {
    if (onboardings.get(order.onboardingId ?? "")?.isChecked !== true)
      throw new Refused(409, "NOT_ONBOARDED", "The customer's checks are not complete.");
    payments.set(order.id, { order, status: "AWAITING_FUNDS", refunds: [], refused: new Set() });
    setTimeout(() => void succeed(order, "AWAITING_FUNDS"), 1_000);
  } else if (before.order !== null && !isSame(before.order, order))
    throw new Refused(409, "OTHER_ORDER", "The id is that of another order.");
}

/** A cancel can overtake its order, which is never carried out then. */
function cancel(id: string): void {
  const payment = payments.get(id);
  if (payment === undefined)
    payments.set(id, { order: null, status: "CANCELLED", refunds: [], refused: new Set() });
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
  if (payment.status !== "SUCCESS" || left < 0n) payment.refused.add(refundId);
  if (payment.refused.has(refundId)) throw new Refused(422, "NOT_REFUNDABLE", "So much is not left.");
  payment.refunds = refunds;
  if (left === 0n) payment.status = "REFUNDED";
}

function accountOf(id: string, after: string | null): unknown {
  const { order, isOpen, deposits } = known(accounts, id);
  const details = { ...BANK, reference: id };
  const instructions = order === null ? [] : [{ encoding: "DISPLAY", type: "BANK", details }];
  const next = deposits.slice(deposits.findIndex((deposit) => deposit.id === after) + 1).slice(0, 100);
  return { id, status: isOpen ? "ACTIVE" : "CLOSED", instructions, deposits: next };
}

/** The same id again is the same account; one that was closed before stays closed. */
function open(order: Omit<Order, "movement">): void {
  const before = accounts.get(order.id);
  if (before !== undefined) {
    if (before.order === null || isDeepStrictEqual(before.order, order)) return;
    throw new Refused(409, "OTHER_ACCOUNT", "The id is that of another account.");
  }
  if (onboardings.get(order.onboardingId ?? "")?.isChecked !== true)
    throw new Refused(422, "NOT_ONBOARDED", "The customer's checks are not complete.", "IDENTITY");
  accounts.set(order.id, { order, deposits: [], isOpen: true });
  setTimeout(() => void receive(order.id, randomUUID(), "100.00"), 1_000);
}

/** What your bank tells: a payment has arrived at an account. It is a payment of its own, which is delivered or goes back. */
async function receive(accountId: string, id: string, srcAmount: string): Promise<void> {
  const { order: account, isOpen, deposits } = known(accounts, accountId);
  if (account === null || payments.has(id)) return;
  const order = { id, onboardingId: accountId, movement: { srcAmount }, callbackUrl: account.callbackUrl };
  const returnReason = returnReasonOf(isOpen, srcAmount);
  const refunds =
    returnReason === null ? [] : [{ id: `return-${id}`, amount: srcAmount, reason: returnReason }];
  const status = returnReason === null ? "PROCESSING" : "REFUNDED";
  payments.set(id, { order, status, refunds, refused: new Set() });
  const terms = returnReason === null ? { price: price(srcAmount) } : { returnReason };
  deposits.push({ id, srcAmount, srcCurrencyCode: "USD", ...terms });
  await tell(order);
  setTimeout(() => void succeed(order, "PROCESSING"), 1_000);
}

function returnReasonOf(isOpen: boolean, amount: string): string | null {
  if (!isOpen) return "ACCOUNT_CLOSED";
  if (cents(amount) < cents(LEAST)) return "BELOW_MINIMUM";
  return cents(amount) > cents(MOST) ? "ABOVE_MAXIMUM" : null;
}

/** A close can overtake its account, which is never opened then. */
function close(id: string): void {
  const account = accounts.get(id);
  if (account === undefined) accounts.set(id, { order: null, deposits: [], isOpen: false });
  else account.isOpen = false;
}

function known<T>(all: ReadonlyMap<string, T>, id: string): T {
  const found = all.get(id);
  if (found === undefined) throw new Refused(404, "UNKNOWN_ORDER", "There is no order of this id.");
  return found;
}

async function succeed(order: Order, from: string): Promise<void> {
  const payment = payments.get(order.id);
  if (payment?.status !== from) return;
  const { destAmount: amountReceived, exchangeRate, fees } = price(order.movement.srcAmount);
  payment.status = "SUCCESS";
  payment.receipt = { amountReceived, exchangeRate, fees };
  await tell(order);
}

/** Callbacks are signed with the bytes that a secret `whsec_…` encodes; requests always with the secret as text. */
const CALLBACK_KEY = SECRET.startsWith("whsec_") ? Buffer.from(SECRET.slice(6), "base64") : SECRET;

/** Tells the ramp, which then looks the order up; without callbacks it looks less often. */
async function tell(order: Order): Promise<void> {
  const body = JSON.stringify({ type: "execution.updated", onboardingId: order.onboardingId });
  const [id, seconds] = [randomUUID(), String(Math.floor(Date.now() / 1000))];
  const signature = createHmac("sha256", CALLBACK_KEY).update(`${id}.${seconds}.${body}`).digest("base64");
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
  const { pathname, searchParams } = new URL(request.url ?? "", "http://provider.example");
  const [resource, id = "", action, code = ""] = pathname.slice(1).split("/");
  const body: unknown = text === "" ? null : JSON.parse(text);
  switch (`${request.method ?? ""} ${resource ?? ""}/${id && "{id}"}/${action ?? ""}`) {
    case "GET capabilities//":
      return CAPABILITIES;
    case "POST quotes//":
      return quote(body as Parameters<typeof quote>[0]);
    case "POST onboardings//":
      onboard(body as Order);
      return onboardingOf((body as Order).id);
    case "GET onboardings/{id}/":
      return onboardingOf(id);
    case "POST onboardings/{id}/requirements":
      submit(id, code);
      return onboardingOf(id);
    case "POST executions//":
      pay(body as Order);
      return paymentOf((body as Order).id);
    case "GET executions/{id}/":
      return paymentOf(id);
    case "POST executions/{id}/cancel":
      cancel(id);
      return paymentOf(id);
    case "POST executions/{id}/refunds":
      refund(id, body as Refund);
      return paymentOf(id);
    case "POST deposit-accounts//":
      open(body as Order);
      return accountOf((body as Order).id, null);
    case "GET deposit-accounts/{id}/":
      return accountOf(id, searchParams.get("after"));
    case "POST deposit-accounts/{id}/close":
      close(id);
      return accountOf(id, null);
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
      if (!(error instanceof Refused)) return send(500, { error: "INTERNAL", message: String(error) });
      const { status, code, message, reason } = error;
      send(status, { error: code, message, reason });
    }
  });
});
server.listen(Number(PORT), "127.0.0.1", () => {
  const address = server.address();
  if (typeof address === "object") console.log(`http://127.0.0.1:${String(address?.port)}`);
});
