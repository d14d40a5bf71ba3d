import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import * as ramp from "@routewright/runtime/ramp";
import type { Findings } from "../report.js";
import { interleave, quantile, ratioOf, median } from "../statistics.js";
import type { Effort } from "./section.js";

/** Pending deliveries of the other project. */
const DELIVERIES = 1_000;
/** On-ramps at a time, and at least in a round: enough for a p99 that one slow request does not decide. */
const CONCURRENCY = 8;
const ON_RAMPS = 100;
/** Pause of the sandbox between the steps of a payment. */
const SETTLE_MS = 20;

/** A customer of a project, and where its requests go. */
export interface OnRampCaller {
  readonly port: number;
  /** The customer's token and the project's credentials, as Authorization headers. */
  readonly customer: string;
  readonly project: string;
  readonly intent: object;
}

type Session = Pick<ramp.AdminSession, "database" | "vault">;
type ProjectId = Parameters<typeof ramp.addWebhook>[2];

/** Whole on-ramps of one project, alone and beside deliveries of another project to a receiver that hangs. */
export async function onRampsBesideDeliveries(
  session: Session,
  other: ProjectId,
  { sandboxPort, caller, effort }: { sandboxPort: number; caller: OnRampCaller; effort: Effort },
): Promise<Findings> {
  const receiver = await startHangingReceiver();
  try {
    await post(sandboxPort, "/switches", {}, { settleMs: SETTLE_MS });
    const webhookId = await addHangingWebhook(session, other, receiver.url);
    const round = async (isEnabled: boolean): Promise<readonly number[]> => {
      if (!isEnabled) receiver.disconnect();
      await ramp.enableWebhook(session.database, other, { webhookId, isEnabled });
      while (isEnabled !== receiver.open() > 0) await sleep(50);
      return onRamps(caller, effort.roundMs);
    };
    await round(false);
    await round(true);
    const subjects = { alone: () => round(false), beside: () => round(true) };
    return findings(await interleave(subjects, effort.rounds));
  } finally {
    receiver.stop();
  }
}

/** Accepts requests and never responds. */
async function startHangingReceiver() {
  let open = 0;
  const server = createServer((request) => {
    open++;
    request.once("close", () => open--);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  return {
    url: `http://127.0.0.1:${String(port)}/`,
    open: () => open,
    disconnect: () => server.closeAllConnections(),
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Adds a webhook with its pending deliveries, disabled. */
async function addHangingWebhook({ database, vault }: Session, id: ProjectId, url: string): Promise<string> {
  const added = await ramp.addWebhook(database, vault, id, { url, allowPrivate: true });
  if (!added.ok) throw new Error(added.problem);
  const { webhookId } = added.value;
  await ramp.enableWebhook(database, id, { webhookId, isEnabled: false });
  await database.inProject(id, (tx) =>
    tx.rows(
      `WITH event AS (
         INSERT INTO ramp.events (id, type, sequence, body)
         SELECT gen_random_uuid(), 'intent.attention', nextval('ramp.event_sequence'), '{}' FROM generate_series(1, $2) RETURNING id)
       INSERT INTO ramp.webhook_deliveries (event_id, endpoint_id, attempt_at) SELECT id, $1, now() FROM event`,
      [webhookId, DELIVERIES],
    ),
  );
  return webhookId;
}

/** Milliseconds of each on-ramp, from the request to COMPLETED. */
async function onRamps(caller: OnRampCaller, milliseconds: number): Promise<readonly number[]> {
  const times: number[] = [];
  const end = performance.now() + milliseconds;
  const worker = async (): Promise<void> => {
    while (performance.now() < end || times.length < ON_RAMPS) times.push(await onRamp(caller));
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
  return times;
}

async function onRamp({ port, customer, project, intent }: OnRampCaller): Promise<number> {
  const started = performance.now();
  const created = await post(
    port,
    "/v1/intent",
    { authorization: customer },
    { ...intent, autoExecute: true },
  );
  let { status } = created.intent;
  while (status !== "COMPLETED") {
    if (status.endsWith("FAILED")) throw new Error(`The on-ramp ended as ${status}.`);
    await sleep(5);
    const response = await fetch(`http://127.0.0.1:${String(port)}/v1/intents/${created.intent.id}`, {
      headers: { authorization: project },
    });
    ({ status } = ((await response.json()) as typeof created).intent);
  }
  return performance.now() - started;
}

async function post(
  port: number,
  path: string,
  headers: Readonly<Record<string, string>>,
  body: object,
): Promise<{ readonly intent: { readonly id: string; readonly status: string } }> {
  const response = await fetch(`http://127.0.0.1:${String(port)}${path}`, {
    method: "POST",
    headers: { ...headers, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`POST ${path}: ${text}`);
  return JSON.parse(text) as Awaited<ReturnType<typeof post>>;
}

function findings(samples: Readonly<Record<"alone" | "beside", (readonly number[])[]>>): Findings {
  const at = (name: keyof typeof samples, part: number): number[] =>
    samples[name].map((times) =>
      quantile(
        [...times].sort((left, right) => left - right),
        part,
      ),
    );
  const row = (name: keyof typeof samples, label: string) => ({
    name: label,
    count: samples[name].flat().length,
    p50: median(at(name, 0.5)),
    p99: median(at(name, 0.99)),
  });
  return {
    tables: [
      {
        title: `ramp: whole on-ramps, ${String(CONCURRENCY)} at a time, the sandbox's payment of 2 × ${String(SETTLE_MS)} ms included`,
        columns: [
          { key: "name", head: "beside" },
          { key: "count", head: "on-ramps", digits: 0 },
          { key: "p50", head: "p50 ms", digits: 1 },
          { key: "p99", head: "p99 ms", digits: 1 },
        ],
        rows: [
          row("alone", "nothing"),
          row(
            "beside",
            `${String(DELIVERIES)} pending deliveries of another project to a receiver that hangs`,
          ),
        ],
      },
    ],
    bars: [
      {
        name: "p99 of an on-ramp beside hanging deliveries",
        ratio: ratioOf(at("beside", 0.99), at("alone", 0.99)),
        limit: { atMost: 1.3 },
      },
    ],
  };
}
