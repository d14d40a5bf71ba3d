import type { RequestContext } from "../model/caller.js";
import type { RequestRecord, RequestStep } from "./request-record.js";
import type { Sent } from "../response/respond.js";
import type { Gateway } from "./gateway.js";

/** What became of a request to an endpoint. */
interface ServedRequest extends Omit<
  RequestRecord,
  "requestId" | "caller" | "milliseconds" | "steps" | "rows" | "bytes" | "databaseMs" | "rollUp"
> {
  readonly sent: Sent;
  readonly times: StepTimes;
}

/** Records a request to an endpoint, over HTTP or by a tool. */
export function recordRequest(
  gateway: Gateway,
  context: RequestContext,
  { method, route, path, parameters, shape = null, status, error, trace, sent, times }: ServedRequest,
): void {
  const { id: requestId, caller } = context;
  const { rows, bytes, databaseMs } = sent;
  if (context.taken > 0 && route !== null)
    caller.key?.use?.count(context, { key: caller.key.id, endpoint: route, status, rows, bytes, databaseMs });
  gateway.recordRequest({
    requestId,
    caller,
    method,
    route,
    path,
    parameters,
    shape,
    status,
    error,
    trace,
    milliseconds: times.milliseconds,
    steps: times.steps,
    rows,
    bytes,
    databaseMs,
    rollUp: times.rollUp,
  });
}

/** Measures the steps of a request, in milliseconds. */
export class StepTimes {
  readonly steps: Record<RequestStep, number> = { authorize: 0, resolve: 0, run: 0, respond: 0 };
  readonly #started = performance.now();
  #last = this.#started;
  #runAt = this.#started;
  #queryAt: number | null = null;
  /** The roll-up that answers, as `schema.name`. */
  rollUp: string | null = null;

  /** The query has its connection. */
  queryStarted(): void {
    this.#queryAt = performance.now();
  }

  /** The time since the end of the step before was this step's. */
  end(step: RequestStep): void {
    const now = performance.now();
    if (step === "run") this.#runAt = this.#last;
    this.steps[step] += now - this.#last;
    this.#last = now;
  }

  /** The times between which it waited for its query, for the rows of the database, and sent them; null without a query. */
  get query(): { readonly queuedAt: number; readonly startedAt: number; readonly readAt: number } | null {
    const startedAt = this.#queryAt;
    return startedAt === null
      ? null
      : { queuedAt: this.#runAt, startedAt, readAt: Math.max(startedAt, this.#runAt + this.steps.run) };
  }

  /** The header `Server-Timing`, in milliseconds so far. */
  get serverTiming(): string {
    const { query } = this;
    const total = metric("total", "Until the headers", this.milliseconds);
    if (query === null) return total;
    const queue = metric("queue", "Wait for a connection", query.startedAt - query.queuedAt);
    const rollUp = this.rollUp === null ? "" : `rollup;desc="Answered from a roll-up", `;
    return `${queue}, ${rollUp}${metric("database", "First rows", query.readAt - query.startedAt)}, ${total}`;
  }

  /** The time at which the last step ended. */
  get endedAt(): number {
    return this.#last;
  }

  /** From the start to the end of the last step. */
  get milliseconds(): number {
    return this.#last - this.#started;
  }
}

function metric(name: string, text: string, milliseconds: number): string {
  const hundredths = Math.round(milliseconds * 100);
  const whole = Math.floor(hundredths / 100);
  return `${name};desc="${text}";dur=${String(whole)}${FRACTIONS[hundredths - whole * 100] ?? ""}`;
}

/** Of hundredths, as text: V8 takes several times as long for a number with a fraction as for a whole one. */
const FRACTIONS = Array.from({ length: 100 }, (_, i) => String(i / 100).slice(1));
