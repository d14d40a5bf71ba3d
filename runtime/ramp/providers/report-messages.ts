import { openRecord, textOf, type ValueOf } from "@routewright/runtime/internal/core/model/schema.js";
import { ErrorCode, statuses, Text } from "./message-fields.js";
import { REFUSAL_REASONS } from "./refusal-reasons.js";

/** What providers send beside their answers (protocol.ts). */

/** A hint: the state is fetched again, so neither order nor number of callbacks matters. */
export const Callback = openRecord({
  type: statuses(["onboarding.updated", "execution.updated"], "what has changed"),
  onboardingId: textOf({ format: "uuid", description: "id of the intent, or of the deposit account" }),
});
export type Callback = ValueOf<typeof Callback>;

export const ProviderError = openRecord(
  {
    error: ErrorCode("code of the error; `UNKNOWN_ORDER`: there is no order of this id"),
    message: Text("for the log, and the failure reason of a refused order"),
  },
  {
    reason: statuses(
      REFUSAL_REASONS,
      "why an onboarding is refused, or an execution for its price; without it: `PRICE` for `QUOTE_EXPIRED` and `QUOTE_USED`, else `IDENTITY`",
    ),
  },
);
