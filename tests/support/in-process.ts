import { run } from "../../generator/cli.js";

export interface Printed {
  readonly exit: number;
  readonly out: string;
  readonly error: string;
}

/** Runs a command in this process and takes what it prints. */
export async function inProcess(argv: readonly string[]): Promise<Printed> {
  const taken = { out: "", error: "" };
  const streams = { out: process.stdout, error: process.stderr };
  const writes = { out: streams.out.write.bind(streams.out), error: streams.error.write.bind(streams.error) };
  for (const name of ["out", "error"] as const)
    streams[name].write = (text: string | Uint8Array) => ((taken[name] += String(text)), true);
  try {
    return { exit: await run(argv), ...taken };
  } finally {
    for (const name of ["out", "error"] as const) streams[name].write = writes[name];
  }
}
