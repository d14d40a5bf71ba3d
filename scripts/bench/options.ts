import { parseArgs } from "node:util";
import type { Effort } from "./rounds.js";

export interface Options {
  /** Names of the sections to run. */
  readonly sections: readonly string[];
  readonly effort: Effort;
  /** Where the figures go as JSON. */
  readonly json: string;
  /** Whether a bar that is missed makes the run fail. */
  readonly enforce: boolean;
}

/** Many short rounds rather than few long ones: what disturbs the machine then falls on all subjects alike. */
const FULL: Effort = { rounds: 9, roundMs: 1000, warmUpMs: 1500 };
const QUICK: Effort = { rounds: 3, roundMs: 600, warmUpMs: 500 };

/** Reads the arguments; throws a line that says what is wrong. */
export function readOptions(args: readonly string[], known: readonly string[]): Options {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      quick: { type: "boolean", default: false },
      enforce: { type: "boolean", default: false },
      json: { type: "string", default: ".data/bench.json" },
    },
  });
  const unknown = positionals.filter((name) => !known.includes(name));
  if (unknown.length > 0)
    throw new Error(`No section is called ${unknown.join(", ")}; there are: ${known.join(", ")}.`);
  return {
    sections: positionals.length > 0 ? positionals : known,
    effort: values.quick ? QUICK : FULL,
    json: values.json,
    enforce: values.enforce,
  };
}
