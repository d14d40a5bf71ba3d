import type { RequestRecord } from "../../core/handler/request-record.js";

/** Failures in a row that name an endpoint: one or two may be of a table that is being replaced. */
const FAILURES = 3;

/** After the last failure: an endpoint that nobody asks again is not named for good. */
const NAMED_MS = 10 * 60_000;

interface Failures {
  inRow: number;
  /** By `performance.now()`. */
  lastAt: number;
}

/** Endpoints whose every request fails while the database responds, whatever the cause. */
export class FailingEndpoints {
  /** Bounded by the endpoints that were served. */
  readonly #failures = new Map<string, Failures>();

  /**
   * An error of the request itself says nothing of the endpoint, nor does a refusal of the whole service. A query that is too large
   * counts as a failure: where every one is, the endpoint is of no use.
   */
  record({ route, status, error }: Pick<RequestRecord, "route" | "status" | "error">): void {
    if (route === null) return;
    if (status < 400) {
      if (this.#failures.size > 0) this.#failures.delete(route);
    } else if (status === 500 || status === 502 || error?.code === "queryTooLarge") {
      const inRow = (this.#failures.get(route)?.inRow ?? 0) + 1;
      this.#failures.set(route, { inRow, lastAt: performance.now() });
    }
  }

  /** Those among the paths that are served. */
  among(endpoints: ReadonlyMap<string, unknown>): readonly string[] {
    if (this.#failures.size === 0) return [];
    const since = performance.now() - NAMED_MS;
    const failing = [...this.#failures].filter(
      ([path, { inRow, lastAt }]) => inRow >= FAILURES && lastAt > since && endpoints.has(path),
    );
    return failing.map(([path]) => path).sort();
  }
}
