import { literals } from "../core/json-schema.js";
import { type Static, Type } from "@sinclair/typebox";

const Milliseconds = Type.Integer({ minimum: 0, maximum: 600_000 });

/** Faults of a provider that can be switched on to try the ramp out. */
export const Switches = Type.Object(
  {
    /** How long a deposit takes to arrive, and again to settle. */
    settleMs: Milliseconds,
    /** Added to every answer. */
    slowMs: Milliseconds,
    /** So many of the next calls are answered with 500. */
    failNext: Type.Integer({ minimum: 0, maximum: 1_000_000 }),
    /** What becomes of an execution. */
    execution: literals(["settle", "fail", "refuse", "stall"]),
    /** How much of the ordered amount arrives, in percent. */
    sentPercent: Type.Integer({ minimum: 1, maximum: 1_000 }),
    /** Outcome of an identity check whose form is not submitted. */
    onboarding: literals(["wait", "approve", "reject", "refuse"]),
    /** Extra copies of every callback. */
    duplicates: Type.Integer({ minimum: 0, maximum: 20 }),
    /** No callbacks at all. */
    mute: Type.Boolean(),
  },
  { additionalProperties: false },
);
export type Switches = Static<typeof Switches>;

export const SwitchChange = Type.Partial(Switches, { additionalProperties: false });
export type SwitchChange = Static<typeof SwitchChange>;

export const DEFAULT_SWITCHES: Switches = {
  settleMs: 1_500,
  slowMs: 0,
  failNext: 0,
  execution: "settle",
  sentPercent: 100,
  onboarding: "wait",
  duplicates: 0,
  mute: false,
};
