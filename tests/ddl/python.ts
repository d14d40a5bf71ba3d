import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

/** Runs each line of its input, a program as JSON, and answers it with a line: its failure, or null. */
const LOOP = `import json, sys, traceback
import pyarrow as pa, pyarrow.parquet as pq, datetime as d
from decimal import Decimal as D
for line in sys.stdin:
  try:
    exec(json.loads(line), {"pa": pa, "pq": pq, "d": d, "D": D})
    answer = None
  except Exception:
    answer = traceback.format_exc()
  print(json.dumps(answer), flush=True)`;

interface Python {
  run(program: string): Promise<void>;
}

function startPython(): Python {
  const child = spawn("python3", ["-c", LOOP], { stdio: ["pipe", "pipe", "inherit"] });
  // It ends with its input, and holds no worker.
  child.unref();
  for (const stream of [child.stdin, child.stdout]) (stream as typeof stream & { unref(): void }).unref();
  const waiting: ((answer: string | null) => void)[] = [];
  createInterface({ input: child.stdout }).on("line", (line) => {
    waiting.shift()?.(JSON.parse(line) as string | null);
  });
  child.once("exit", () => {
    for (const answer of waiting.splice(0)) answer("Python ended.");
  });
  return {
    async run(program) {
      const answer = await new Promise<string | null>((resolve) => {
        waiting.push(resolve);
        child.stdin.write(`${JSON.stringify(program)}\n`);
      });
      if (answer !== null) throw new Error(answer);
    },
  };
}

let python: Python | undefined;

/** Runs Python with pyarrow (`pa`, `pq`), decimals (`D`) and times (`d`): in one process for all of a worker, since loading them takes a second. */
export function runPython(program: string): Promise<void> {
  return (python ??= startPython()).run(program);
}
