import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { atEnd } from "../../support/at-end.js";
import { programPath } from "../../support/needs.js";

export interface MetricFlowRequest {
  readonly metrics: readonly string[];
  readonly group_by: readonly string[];
  /** Filters of MetricFlow. */
  readonly where: readonly string[];
}

export type MetricFlowAnswer =
  | { readonly columns: readonly string[]; readonly rows: readonly (readonly (string | null)[])[] }
  | { readonly error: string };

/** MetricFlow over a manifest and a database; one request after the other. */
export interface MetricFlow {
  readonly answer: (asked: MetricFlowRequest) => Promise<MetricFlowAnswer>;
  /** Everything that all of these metrics can be grouped by. */
  readonly groupsOf: (metrics: readonly string[]) => Promise<readonly string[]>;
}

export function startMetricFlow(manifest: string, database: string): MetricFlow {
  const script = fileURLToPath(new URL("oracle.py", import.meta.url));
  const child = spawn(programPath("python3"), [script, manifest, database], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  atEnd(() => void child.kill("SIGKILL"));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const ask = async (asked: object): Promise<unknown> => {
    child.stdin.write(`${JSON.stringify(asked)}\n`);
    const { value, done } = await lines.next();
    if (done === true) throw new Error("MetricFlow ended.");
    return JSON.parse(value) as unknown;
  };
  return {
    answer: async (asked) => (await ask(asked)) as MetricFlowAnswer,
    groupsOf: async (metrics) => {
      const { groups = [] } = (await ask({ groups_of: metrics })) as { readonly groups?: readonly string[] };
      return groups;
    },
  };
}
