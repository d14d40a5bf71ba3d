/**
 * A provider that misbehaves in each named way (modes.ts), with the ramp killed at each step: the intents of a run reach the
 * step, then the process gets SIGKILL, and the next one dies at the next step. No intent may end wrongly, no order be carried out
 * twice, no event be lost; what stays unclear needs the operator's attention.
 *
 * The runs wait most of the time, so they go side by side: each has a ramp process, a database, a project and a receiver of its
 * own. The provider is shared; it keeps orders apart by their ids.
 */
import pg from "pg";
import { expect, it } from "vitest";
import { FAILPOINTS, type Failpoint } from "../../../../runtime/ramp/core/failpoints.js";
import { withAtEnd } from "../../../support/at-end.js";
import { freePort } from "../../../support/port.js";
import { ownConformanceProvider, startProcess } from "../../support/processes.js";
import { migratedDatabase } from "../../support/migrated.js";
import { ownReceiver } from "../../support/receiver.js";
import { deliveredEvents, expireClaims, insist, projectWithWebhook } from "../../support/recovery.js";
import { type call, eventually, onramp, type Reply } from "../../support/world.js";
import { amountOf, CRASH_MODES, type End, MODE_NAMES, MODES } from "./modes.js";

/** How long the intents of a run may take to come to their ends: a bound of runs that hang. */
const PATIENCE_MS = 300_000;
/** More frequent polling keeps the machine busy. */
const PAUSE_MS = 400;
const connection = await ownConformanceProvider();

interface Truth {
  readonly carriedOut: readonly { readonly id: string; readonly onboardingId: string }[];
  /** Status of each execution, by the intent's id. */
  readonly statuses: Readonly<Record<string, string>>;
}

interface Settled {
  readonly status: string;
  readonly transaction: string | null;
  readonly attention: string | null;
}

type Stage = Awaited<ReturnType<typeof ownStage>>;

/** A project on a database of its own, connected to the provider and to a receiver. */
async function ownStage() {
  const databaseUrl = await migratedDatabase();
  const receiver = await ownReceiver();
  const { project, secret } = await projectWithWebhook(databaseUrl, connection, receiver);
  const port = await freePort();
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 2 });
  // The database is dropped while a connection ends.
  pool.on("error", () => undefined);
  return {
    url: `http://127.0.0.1:${String(port)}`,
    basic: project.basic,
    databaseUrl,
    events: () => new Set(receiver.verified(secret).map((event) => event.id)),
    sql: async (text: string, values: unknown[] = []) =>
      (await pool.query<Record<string, string | null>>(text, values)).rows,
    start: (failpoint: string) =>
      startProcess("./ramp-process.ts", {
        RAMP_TEST_DATABASE: databaseUrl,
        RAMP_TEST_PORT: String(port),
        RAMP_FAULT: failpoint,
        RAMP_FAULT_GATHER_MS: "800",
      }),
    close: () => pool.end(),
  };
}

/** Runs the ramp until it is stopped; when a failpoint kills it, starts it again with the next one. */
function keepRunning(stage: Stage, failpoints: readonly Failpoint[]) {
  const run = { isStopped: false, kills: 0 };
  const start = () => stage.start(failpoints[run.kills] ?? "");
  const loop = (async () => {
    let ramp = await start();
    while (!run.isStopped) {
      if (ramp.child.signalCode === "SIGKILL") {
        run.kills++;
        await expireClaims(stage.sql);
        ramp = await start();
        await expireClaims(stage.sql);
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    await ramp.kill();
  })();
  return {
    kills: () => run.kills,
    async stop() {
      run.isStopped = true;
      await loop;
    },
  };
}

/** Repeats a request until it is answered, as a client does whose server crashes. */
const persistently = (stage: Stage, path: string, options: Parameters<typeof call>[3]): Promise<Reply> =>
  insist(stage.url, "POST", path, options, PATIENCE_MS);

/** What an intent has to come to, given what the provider really did. */
function expected(end: End, truth: string | undefined): Partial<Settled> {
  switch (end) {
    case "COMPLETED":
      return { status: "COMPLETED", transaction: "SUCCESS", attention: null };
    case "REFUNDED":
      return { status: "COMPLETED", transaction: "REFUNDED", attention: null };
    case "TRANSACTION_FAILED":
      return { status: "TRANSACTION_FAILED", transaction: "FAILED", attention: null };
    case "CANCELLED":
    case "EXPIRED":
      return { status: end, transaction: "CANCELLED", attention: null };
    case "attention":
      return { attention: "yes" };
    case "by truth":
      return expected(truth === "SUCCESS" ? "COMPLETED" : "TRANSACTION_FAILED", truth);
  }
}

async function settledStates({ sql }: Stage): Promise<ReadonlyMap<string, Settled>> {
  const rows = await sql(
    `SELECT i.id, i.status, t.status AS transaction, CASE WHEN i.attention_since IS NOT NULL THEN 'yes' END AS attention
     FROM ramp.intents i LEFT JOIN ramp.transactions t ON t.project_id = i.project_id AND t.intent_id = i.id`,
  );
  return new Map(
    rows.map(({ id, status, transaction = null, attention = null }) => [
      String(id),
      { status: String(status), transaction, attention },
    ]),
  );
}

/** Creates an intent of each mode, and stops those that are to be stopped; returns their ids by mode. */
async function createIntents(
  stage: Stage,
  auth: string,
  { modes, autoExecute }: { readonly modes: readonly string[] } & Pick<Run, "autoExecute">,
): Promise<ReadonlyMap<string, string>> {
  const create = (mode: string): Promise<Reply> =>
    persistently(stage, "/v1/intent", {
      auth,
      key: `create ${mode}`,
      body: onramp({
        src: { currencyCode: "USD", details: { countryCode: "US", rail: "ACH" } },
        srcAmount: amountOf(mode),
        autoExecute,
      }),
    });
  return new Map(
    await Promise.all(
      modes.map(async (mode) => {
        const reply = await create(mode);
        expect(reply.status, `${mode}: ${reply.text}`).toBe(201);
        const id = String(reply.json.intent.id);
        if (!autoExecute) await execute(stage, auth, mode, id);
        if (MODES[mode]?.stops !== undefined) await stopIntent(stage, auth, mode, id);
        return [mode, id] as const;
      }),
    ),
  );
}

async function execute(stage: Stage, auth: string, mode: string, id: string): Promise<void> {
  await eventually(
    () => stage.sql("SELECT status FROM ramp.intents WHERE id = $1", [id]),
    ([row]) => row?.["status"] === "PENDING_PAYMENT",
    PATIENCE_MS,
    PAUSE_MS,
  );
  const path = `/v1/intent/${id}/transaction`;
  const reply = await persistently(stage, path, { auth, key: `execute ${mode}` });
  expect(reply.status, `${mode}: ${reply.text}`).toBe(202);
}

/** Cancels an intent, or has it expire, once its order is carried out. */
async function stopIntent(stage: Stage, auth: string, mode: string, id: string): Promise<void> {
  await eventually(
    () => stage.sql("SELECT status FROM ramp.transactions WHERE intent_id = $1", [id]),
    ([row]) => row?.["status"] === "IN_PROGRESS",
    PATIENCE_MS,
    PAUSE_MS,
  );
  if (MODES[mode]?.stops === "expired") {
    await stage.sql("UPDATE ramp.intents SET expires_at = now() WHERE id = $1", [id]);
    return;
  }
  const path = `/v1/intent/${id}/cancel`;
  const reply = await persistently(stage, path, { auth, key: `cancel ${mode}` });
  expect(reply.status, `${mode}: ${reply.text}`).toBe(202);
}

async function truthOf(): Promise<Truth> {
  return (await (await fetch(`${connection.url}/truth`)).json()) as Truth;
}

/** Intents that are not as they must be, by mode. */
async function wrongIntents(stage: Stage, ids: ReadonlyMap<string, string>) {
  const [{ statuses }, states] = [await truthOf(), await settledStates(stage)];
  const entries = [...ids].map(([mode, id]) => {
    const want = expected(MODES[mode]?.ends ?? "COMPLETED", statuses[id]);
    const state = states.get(id);
    const is = Object.fromEntries(Object.keys(want).map((key) => [key, state?.[key as keyof Settled]]));
    return [mode, { is, want }] as const;
  });
  return Object.fromEntries(
    entries.filter(([, { is, want }]) => JSON.stringify(is) !== JSON.stringify(want)),
  );
}

/** Runs intents of every mode, with the ramp killed once at each of the steps, and checks how they end. */
async function checkEnds({ steps, autoExecute }: Run): Promise<void> {
  const stage = await ownStage();
  const ramp = keepRunning(stage, steps);
  try {
    const customer = await persistently(stage, "/v1/customers", { auth: stage.basic, body: { id: "payer" } });
    const auth = `Bearer ${String(customer.json.accessToken)}`;
    const ids = await createIntents(stage, auth, {
      modes: steps.length === 0 ? MODE_NAMES : CRASH_MODES,
      autoExecute,
    });
    await eventually(
      () => wrongIntents(stage, ids),
      // The last steps are those of events: they come after the intents' ends.
      (wrong) => Object.keys(wrong).length === 0 && ramp.kills() === steps.length,
      PATIENCE_MS,
      PAUSE_MS,
    ).catch(() => undefined);
    // What comes after an end (a refund, a contradiction) comes about a second later.
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(await wrongIntents(stage, ids)).toEqual({});
    expect(ramp.kills(), "each step was reached").toBe(steps.length);
    const { carriedOut } = await truthOf();
    const executed = carriedOut.map(({ onboardingId }) => onboardingId);
    expect(executed.length, "no order is carried out twice").toBe(new Set(executed).size);
    const states = await settledStates(stage);
    expect(states.size, "no intent is made twice").toBe(ids.size);
    const events = await deliveredEvents(stage.sql, PATIENCE_MS);
    const received = stage.events();
    expect(events.filter(({ id }) => !received.has(id))).toEqual([]);
    const moves = events.flatMap(({ move }) => (move.includes("intent.status_changed") ? [move] : []));
    expect(moves.length, "one event for each change").toBe(new Set(moves).size);
    for (const [id, { status }] of states) expect(moves).toContain(`${id} intent.status_changed ${status}`);
  } finally {
    await ramp.stop();
    await stage.close();
  }
}

it("has at least 25 named ways to misbehave", () => {
  expect(MODE_NAMES.length).toBeGreaterThanOrEqual(25);
});

interface Run {
  /** In the order in which a payment comes to them. */
  readonly steps: readonly Failpoint[];
  /** Otherwise the customer asks for each transaction. */
  readonly autoExecute: boolean;
}

const RUNS: readonly Run[] = [
  { steps: [], autoExecute: true },
  {
    steps: [
      "request.recorded",
      "onboarding.answered",
      "response.stored",
      "execution.opened",
      "execution.confirmed",
    ],
    autoExecute: false,
  },
  {
    steps: ["onboarding.recorded", "execution.opened", "execution.withdrawn", "callback.received"],
    autoExecute: true,
  },
  {
    steps: [
      "execution.answered",
      "execution.recorded",
      "cancel.answered",
      "callback.recorded",
      "delivery.answered",
    ],
    autoExecute: true,
  },
];

it("dies at every step; at that of a refund, which an operator asks for, and of deposits, in tests/ramp/intents", () => {
  const elsewhere = ["refund.answered", "deposits.answered", "deposits.recorded"];
  const steps = new Set([...RUNS.flatMap((run) => run.steps), ...elsewhere]);
  expect([...steps].sort()).toEqual([...FAILPOINTS].sort());
});

it.concurrent.for(RUNS)(
  "comes to the right end in every mode, killed at $steps",
  { timeout: 900_000 },
  (run, { onTestFinished }) => withAtEnd(onTestFinished, () => checkEnds(run)),
);
