import type { RequestContext } from "../model/caller.js";
import type { RequestRecord, RequestStep } from "../operations/request-record.js";
import type { Sent } from "../response/respond.js";
import type { Gateway } from "./gateway.js";

/** What became of a request to an endpoint. */
interface ServedRequest extends Omit<
  RequestRecord,
  "requestId" | "caller" | "milliseconds" | "steps" | "rows" | "bytes" | "databaseMs"
> {
  readonly sent: Sent;
  readonly times: StepTimes;
}

/** Records a request to an endpoint, over HTTP or by a tool. */
export function recordRequest(
  gateway: Gateway,
  { id: requestId, caller }: RequestContext,
  { sent, times, ...served }: ServedRequest,
): void {
  const { rows, bytes, databaseMs } = sent;
  const { milliseconds, steps } = times;
  gateway.recordRequest({ requestId, caller, ...served, milliseconds, steps, rows, bytes, databaseMs });
}

/** Measures the steps of a request, in milliseconds. */
export class StepTimes {
  readonly steps: Record<RequestStep, number> = { authorize: 0, resolve: 0, run: 0, respond: 0 };
  readonly #started = performance.now();
  #last = this.#started;

  /** The time since the end of the step before was this step's. */
  end(step: RequestStep): void {
    const now = performance.now();
    this.steps[step] += now - this.#last;
    this.#last = now;
  }

  /** From the start to the end of the last step. */
  get milliseconds(): number {
    return this.#last - this.#started;
  }
}
