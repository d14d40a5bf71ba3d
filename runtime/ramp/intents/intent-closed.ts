import { type RampError, rampError } from "../core/ramp-errors.js";
import { type Intent, isTerminal } from "./intent.js";

/** The intent allows no such change any more: it says its status. */
export function intentClosed(intent: Intent): RampError {
  const state = isTerminal(intent.status) ? intent.status : `${intent.status}, and has expired`;
  return rampError("INTENT_CLOSED", { message: `The intent is ${state}: it allows no such change.` });
}
