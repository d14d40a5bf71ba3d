import { AsyncLocalStorage } from "node:async_hooks";
import { run } from "../../generator/cli.js";

export interface Printed {
  readonly exit: number;
  readonly out: string;
  readonly error: string;
}

/** What the command that is running in this context has printed: commands may run side by side. */
const printing = new AsyncLocalStorage<{ out: string; error: string }>();

for (const [name, stream] of [
  ["out", process.stdout],
  ["error", process.stderr],
] as const) {
  const write: (text: string | Uint8Array) => boolean = stream.write.bind(stream);
  stream.write = (text: string | Uint8Array) => {
    const taken = printing.getStore();
    if (taken) taken[name] += String(text);
    return taken ? true : write(text);
  };
}

/** Runs a command in this process and takes what it prints. */
export async function inProcess(argv: readonly string[]): Promise<Printed> {
  const taken = { out: "", error: "" };
  const exit = await printing.run(taken, () => run(argv));
  return { exit, ...taken };
}
