import type { DayState, EndpointDay } from "../core/model/endpoint-days.js";

/** Days of an endpoint by what it was, the last first. */
export type EndpointHistory = Readonly<Record<DayState, readonly string[]>>;

/** The states of all endpoints that a caller sees: `/v1/system/status`. */
export interface StatusBody {
  /** Days of which states are kept; null: there is no history, and `detail` says why. */
  readonly history: { readonly from: string; readonly to: string } | null;
  readonly detail: string | null;
  readonly endpoints: readonly {
    readonly path: string;
    readonly states: readonly { readonly name: string; readonly text: string; readonly at: string | null }[];
    /** Null: there is none, or the caller may not call the endpoint. */
    readonly history: EndpointHistory | null;
  }[];
}

export function historyOf(days: readonly EndpointDay[]): EndpointHistory {
  const daysOf = (state: DayState) => days.filter((each) => each[state]).map(({ day }) => day);
  return { fresh: daysOf("fresh"), late: daysOf("late"), failed: daysOf("failed") };
}
