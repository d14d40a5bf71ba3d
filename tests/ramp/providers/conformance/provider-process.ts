/** The conformance provider in a process of its own: speaks the provider protocol and misbehaves as modes.ts describes. Prints its address first. */
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { callbackHeaders, isSigned, REQUEST_HEADERS } from "../../../../runtime/ramp/providers/signature.js";
import Big from "big.js";
import { listening, serveTest } from "../../support/server.js";
import { type Mode, modeOf } from "./modes.js";

const CODE = "conformance";
const KEY_ID = "conformance-key";
const SECRET = "conformance-secret";
/** Time between two statuses of an execution. */
const STEP_MS = 60;

const FEES = {
  currencyCode: "USD",
  totalFee: "1.50",
  networkFee: "0.50",
  processingFee: "1.00",
  partnerFee: "0.00",
};

interface Order {
  readonly id: string;
  readonly onboardingId?: string;
  readonly movement: { readonly srcAmount: string; readonly src: { readonly currencyCode: string } };
  readonly callbackUrl: string;
}

interface Filed {
  readonly order: Order;
  readonly mode: Mode;
  status: string;
  lookUps: number;
  /** Called when a cancel is refused. */
  refusedCancel(): void;
}

const onboardings = new Map<string, Filed>();
const executions = new Map<string, Filed>();
/** Orders that were cancelled before they were carried out: they never will be. */
const cancelled = new Set<string>();
/** Orders on their way: received, not yet carried out. */
const late = new Set<string>();
/** Each execution that was really made. */
const carriedOut: { id: string; onboardingId: string }[] = [];
/** Number of answers given, by order and step. */
const answers = new Map<string, number>();

/** What its account received and paid, by day and currency. */
const ledger = new Map<string, Record<string, Big>>();

/** Books the payment, or what is given back of it. */
function book({ order, status }: Filed): void {
  const paid = new Big(order.movement.srcAmount);
  const add = (currency: string, name: string, amount: Big): void => {
    const line = `${new Date().toISOString().slice(0, 10)} ${currency}`;
    const { [name]: known = new Big(0), ...others } = ledger.get(line) ?? {};
    ledger.set(line, { ...others, [name]: known.plus(amount) });
  };
  if (status === "REFUNDED") add("USD", "refunded", paid);
  if (status !== "SUCCESS") return;
  add("USD", "received", paid);
  add("USD", "fees", new Big(FEES.totalFee));
  add("USDC_POLYGON", "delivered", paid.minus(FEES.totalFee));
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const reply = (response: ServerResponse, status: number, body: unknown): void => {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
};
const refuse = (response: ServerResponse, status: number, error = "REFUSED"): void =>
  reply(response, status, { error, message: `Refused with ${String(status)}.` });

function count(name: string): number {
  const number = (answers.get(name) ?? 0) + 1;
  answers.set(name, number);
  return number;
}

async function callback(filed: Filed, type: "onboarding.updated" | "execution.updated"): Promise<void> {
  const { order, mode } = filed;
  if (mode.callbacks === "none") return;
  const body = JSON.stringify({ type, onboardingId: order.onboardingId ?? order.id });
  // As providers do: again until it is received, as the ramp may be killed at that moment.
  const send = async (secret: string): Promise<void> => {
    for (let tries = 0; tries < 100; tries++) {
      const headers = {
        "content-type": "application/json",
        ...callbackHeaders(secret, randomUUID(), new Date(), body),
      };
      const sent = fetch(order.callbackUrl, { method: "POST", body, headers });
      const status = await sent.then(
        (response) => response.status,
        () => 503,
      );
      if (status < 500) return;
      await sleep(200);
    }
  };
  if (mode.callbacks === "forged") await send("guessed");
  if (mode.callbacks === "reversed") await sleep(filed.status === "SUCCESS" ? 0 : 400);
  await Promise.all(Array.from({ length: mode.callbacks === "tenfold" ? 10 : 1 }, () => send(SECRET)));
}

function instructionsOf({ order, mode, status, lookUps }: Filed): unknown[] {
  // Known between the first answer and the arrival of the money.
  if (mode.instructions === "late" && (status !== "AWAITING_FUNDS" || lookUps === 0)) return [];
  const details = {
    beneficiary: mode.instructions === "control characters" ? "Con\0form\u001bance" : "Conformance",
    reference: order.id,
    rail: "ACH",
    currency: "USD",
    amount: mode.instructions === "wrong amount" ? "999999.00" : order.movement.srcAmount,
  };
  return [{ encoding: "DISPLAY", type: "BANK", details }];
}

function executionOf(filed: Filed): Record<string, unknown> {
  const { order, mode, status } = filed;
  const receipt = {
    amountReceived: `${(Number(order.movement.srcAmount) - 1.5).toFixed(2)}0000`,
    fees: FEES,
    exchangeRate: "1",
    transactionHash: `0x${"ab".repeat(32)}`,
  };
  return {
    id: order.id,
    reference: mode.text ?? `ref-${order.id}`,
    status,
    failureReason: status === "FAILED" ? "The transfer was returned." : null,
    instructions: instructionsOf(filed),
    ...(status === "SUCCESS" ? { receipt } : {}),
    ...(status === "REFUNDED"
      ? { receipt, refunds: [{ id: "r1", amount: order.movement.srcAmount, reason: "ACH return R01" }] }
      : {}),
  };
}

/** The first three answers are of before the change: the ramp may be killed after one of them. */
const BEFORE = 3;

function onboardingOf({ order, mode }: Filed): Record<string, unknown> {
  const title = mode.text ?? "Identity check";
  const met = { code: "KYC_VERIFICATION", title, status: "COMPLETED", failureReason: null, form: null };
  const open = { ...met, status: "PENDING" };
  const isBefore = mode.checks !== undefined && count(`checks ${order.id}`) <= BEFORE;
  const { id } = order;
  if (mode.checks === "leaves") return { id, requirements: isBefore ? [open] : [] };
  if (mode.checks === "later" && isBefore) return { id, requirements: [], complete: false };
  if (mode.checks === "twice") return { id, requirements: isBefore ? [met, open] : [met, met] };
  return { id, requirements: [met] };
}

/** What comes after an end comes once the ramp has recorded the end: it looks up the second time after that. */
const seenTwice = (filed: Filed): Promise<void> => seen(filed, 2);

async function seen(filed: Filed, times: number): Promise<void> {
  while (filed.lookUps < times) {
    await callback(filed, "execution.updated");
    await sleep(1_000);
  }
}

/** Carries an order out and walks it through its statuses. */
function carryOut(order: Order): Filed {
  const known = executions.get(order.id);
  if (known) return known;
  const mode = modeOf(order.movement.srcAmount);
  let refusedCancel = (): void => undefined;
  const cancelRefused = new Promise<void>((resolve) => (refusedCancel = resolve));
  const filed: Filed = { order, mode, status: "AWAITING_FUNDS", lookUps: 0, refusedCancel };
  executions.set(order.id, filed);
  carriedOut.push({ id: order.id, onboardingId: order.onboardingId ?? "" });
  const path = mode.path ?? ["PROCESSING", "SUCCESS"];
  if (path.length === 1) filed.status = path[0] ?? "";
  void (async () => {
    if (mode.stops !== undefined) await cancelRefused;
    if (mode.instructions === "late") await seen(filed, 1);
    for (const status of path) {
      await sleep(STEP_MS);
      if (["SUCCESS", "FAILED"].includes(filed.status)) await seenTwice(filed);
      filed.lookUps = 0;
      filed.status = status;
      book(filed);
      void callback(filed, "execution.updated");
    }
  })();
  return filed;
}

async function garbled(mode: Mode, step: string, id: string, response: ServerResponse): Promise<boolean> {
  if (mode.slowMs !== undefined) await sleep(mode.slowMs);
  const { garble } = mode;
  if (garble?.step !== step || count(`${step} ${id}`) > garble.times) return false;
  switch (garble.how) {
    case "500":
      refuse(response, 500);
      break;
    case "html-404":
      response.writeHead(404, { "content-type": "text/html" }).end("<h1>404 Not Found</h1>");
      break;
    case "wrong-types":
      reply(response, 200, { id, reference: 7, status: ["SUCCESS"], failureReason: 0, instructions: "none" });
      break;
    case "wrong-id":
      reply(response, 200, {
        ...executionOf(executions.get(id) as Filed),
        id: randomUUID(),
        status: "FAILED",
        failureReason: "x",
      });
      break;
    case "oversized":
      reply(response, 200, { id, padding: "x".repeat(400_000) });
      break;
    case "redirect":
      response.writeHead(302, { location: "/elsewhere" }).end();
      break;
    case "empty":
      response.writeHead(200).end();
      break;
    case "reset":
      response.destroy();
      break;
  }
  return true;
}

function startOnboarding(order: Order, response: ServerResponse): void {
  const mode = modeOf(order.movement.srcAmount);
  const isRepeat = onboardings.has(order.id);
  const filed = onboardings.get(order.id) ?? {
    order,
    mode,
    status: "COMPLETED",
    lookUps: 0,
    refusedCancel: () => undefined,
  };
  onboardings.set(order.id, filed);
  if (mode.lostThen?.step === "onboarding") {
    if (!isRepeat) return void response.destroy();
    return refuse(response, mode.lostThen.status);
  }
  reply(response, 200, onboardingOf(filed));
}

async function execute(order: Order, response: ServerResponse): Promise<void> {
  const mode = modeOf(order.movement.srcAmount);
  const isRepeat = executions.has(order.id);
  if (cancelled.has(order.id)) return reply(response, 200, neverMade(order.id));
  if (mode.refuse !== undefined && !mode.refuseAndExecute) return refuse(response, mode.refuse);
  if (mode.lateMs !== undefined && !isRepeat) return executeLate(order, mode.lateMs, response);
  const filed = carryOut(order);
  if (mode.callbacks === "before the answer") {
    await callback(filed, "execution.updated");
    await sleep(100);
  }
  if (mode.refuse !== undefined) return refuse(response, mode.refuse);
  if (mode.lostThen?.step === "execution") {
    if (!isRepeat) return void response.destroy();
    return refuse(response, mode.lostThen.status);
  }
  if (await garbled(mode, "execute", order.id, response)) return;
  reply(response, 200, executionOf(filed));
}

async function executeLate(order: Order, lateMs: number, response: ServerResponse): Promise<void> {
  if (late.has(order.id)) return refuse(response, 409);
  late.add(order.id);
  await sleep(lateMs);
  late.delete(order.id);
  if (cancelled.has(order.id)) return reply(response, 200, neverMade(order.id));
  reply(response, 200, executionOf(carryOut(order)));
}

const neverMade = (id: string): Record<string, unknown> => ({
  id,
  reference: `never-made-${id}`,
  status: "CANCELLED",
  failureReason: null,
  instructions: [],
});

async function look(kind: "onboarding" | "execution", id: string, response: ServerResponse): Promise<void> {
  const filed = (kind === "onboarding" ? onboardings : executions).get(id);
  if (!filed && kind === "execution" && cancelled.has(id)) return reply(response, 200, neverMade(id));
  if (!filed) return refuse(response, 404, "UNKNOWN_ORDER");
  filed.lookUps++;
  if (await garbled(filed.mode, kind, id, response)) return;
  reply(response, 200, kind === "onboarding" ? onboardingOf(filed) : executionOf(filed));
}

function cancelExecution(filed: Filed, response: ServerResponse): void {
  const { cancel } = filed.mode;
  const isRepeat = filed.status === "CANCELLED";
  filed.status = "CANCELLED";
  if (typeof cancel !== "object") return reply(response, 200, executionOf(filed));
  if (isRepeat) return refuse(response, cancel.lostThen);
  response.destroy();
}

function cancel(id: string, response: ServerResponse): void {
  const filed = executions.get(id);
  if (filed?.mode.cancel !== undefined) return cancelExecution(filed, response);
  filed?.refusedCancel();
  if (filed?.mode.stops !== undefined || filed?.status === "AWAITING_FUNDS") return refuse(response, 409);
  if (filed) return reply(response, 200, executionOf(filed));
  cancelled.add(id);
  reply(response, 200, neverMade(id));
}

/** Quotes by amount: what is wrong with each. */
const QUOTES: Readonly<Record<string, Record<string, unknown>>> = {
  "200.00": {},
  "201.00": { fees: { ...FEES, currencyCode: "ZZZ", totalFee: "1.500000000000000000" } },
  "202.00": { rail: "SEPA" },
  "203.00": { destAmount: "900000.000000" },
  "204.00": { destAmount: "198.1234567" },
  "205.00": { fees: { ...FEES, totalFee: "0.01" } },
};

function quote(srcAmount: string, response: ServerResponse): void {
  const good = {
    rail: "ACH",
    hasIndicativePrice: true,
    destAmount: `${(Number(srcAmount) - 1.5).toFixed(2)}0000`,
    exchangeRate: "1",
    fees: FEES,
  };
  reply(response, 200, { quote: { ...good, ...QUOTES[srcAmount] } });
}

const CAPABILITIES = {
  code: CODE,
  name: "Conformance",
  logo: null,
  requirements: [],
  rails: [{ code: "ACH", title: "ACH", properties: {}, required: [] }],
  pairs: [
    {
      srcCurrencyCode: "USD",
      destCurrencyCode: "USDC_POLYGON",
      rail: "ACH",
      countries: ["US"],
      minSrcAmount: "1",
      maxSrcAmount: "100000",
    },
  ],
};

async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let body = "";
  for await (const chunk of request as AsyncIterable<Buffer>) body += chunk.toString();
  const path = request.url ?? "";
  if (path === "/truth") {
    const statuses = Object.fromEntries(
      [...executions.values()].map(({ order, status }) => [order.onboardingId, status]),
    );
    return reply(response, 200, { carriedOut, statuses, ledger: Object.fromEntries(ledger) });
  }
  const signed = {
    timestamp: String(request.headers[REQUEST_HEADERS.timestamp]),
    method: request.method ?? "",
    target: path,
    idempotencyKey: String(request.headers["idempotency-key"] ?? ""),
    body,
  };
  if (!isSigned(SECRET, signed, String(request.headers[REQUEST_HEADERS.signature]), Date.now()))
    return refuse(response, 401);
  if (path === "/capabilities") return reply(response, 200, CAPABILITIES);
  const [, resource = "", id = "", action] = path.split("/");
  if (request.method === "POST" && id === "") {
    if (resource === "quotes") return quote((JSON.parse(body) as { srcAmount: string }).srcAmount, response);
    const order = JSON.parse(body) as Order;
    const { repriced } = modeOf(order.movement.srcAmount);
    if (signed.idempotencyKey === `${String(repriced)}:${order.id}`)
      return refuse(response, 422, "QUOTE_EXPIRED");
    return resource === "onboardings" ? startOnboarding(order, response) : execute(order, response);
  }
  if (action === "cancel") return cancel(id, response);
  return look(resource === "onboardings" ? "onboarding" : "execution", id, response);
}

const server = createServer((request, response) => {
  handle(request, response).catch((error: unknown) => {
    console.error(error);
    response.destroy();
  });
});
const url = await listening(server);
serveTest(JSON.stringify({ url, provider: CODE, keyId: KEY_ID, secret: SECRET }));
