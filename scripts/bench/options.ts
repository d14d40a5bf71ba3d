import { parseArgs } from "node:util";
import type { Effort } from "./rounds.js";

export interface Options {
  /** Names of the sections to run. */
  readonly sections: readonly string[];
  readonly effort: Effort;
  /** How long the soak takes. */
  readonly minutes: number;
  /** Where the figures go as JSON. */
  readonly json: string;
  /** Whether a bar that is missed makes the run fail. */
  readonly enforce: boolean;
}

/** Many short rounds rather than few long ones: what disturbs the machine then falls on all subjects alike. */
const FULL: Effort = { rounds: 9, roundMs: 1000, warmUpMs: 4000 };
const QUICK: Effort = { rounds: 3, roundMs: 600, warmUpMs: 500 };

/** The section that takes too long to be run unasked. */
const ON_DEMAND = "soak";

/** Reads the arguments; throws a line that says what is wrong. */
export function readOptions(args: readonly string[], known: readonly string[]): Options {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      quick: { type: "boolean", default: false },
      enforce: { type: "boolean", default: false },
      minutes: { type: "string", default: "10" },
      json: { type: "string", default: ".data/bench.json" },
    },
  });
  const unknown = positionals.filter((name) => !known.includes(name));
  if (unknown.length > 0)
    throw new Error(`No section is called ${unknown.join(", ")}; there are: ${known.join(", ")}.`);
  const minutes = Number(values.minutes);
  if (!(minutes > 0 && minutes <= 120)) throw new Error("--minutes takes a number up to 120.");
  return {
    sections: positionals.length > 0 ? positionals : known.filter((name) => name !== ON_DEMAND),
    minutes,
    effort: values.quick ? QUICK : FULL,
    json: values.json,
    enforce: values.enforce,
  };
}
