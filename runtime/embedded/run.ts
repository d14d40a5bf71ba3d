import { spawn } from "node:child_process";

/**
 * The embedded PostgreSQL cannot run here. The message is one line: what is wrong, and to set `DATABASE_URL` instead.
 */
export class EmbeddedPostgresUnavailable extends Error {
  override readonly name = "EmbeddedPostgresUnavailable";

  constructor(reason: string, options?: ErrorOptions) {
    const line = reason.trim().replace(/\s*\n\s*/g, " | ");
    super(
      `The embedded PostgreSQL is not available: ${line}. To use another server, set DATABASE_URL.`,
      options,
    );
  }
}

/** The user that a program runs as. */
export interface Account {
  readonly uid: number;
  readonly gid: number;
}

/** How a program ended: its exit code (`null` when it could not be run or was killed) and its output. */
export interface ProgramResult {
  readonly code: number | null;
  readonly output: string;
}

export interface RunOptions {
  readonly account?: Account | undefined;
  /** Entered before switching to the account: may lie below a directory that the account cannot traverse. */
  readonly cwd?: string;
  /** A file descriptor that gets the output instead of `ProgramResult.output`. */
  readonly outputTo?: number;
}

/**
 * Runs a program to its end, in its own session: Ctrl-C in a terminal signals the whole process group, and PostgreSQL must
 * run until the graceful shutdown is done. A program that cannot be run is a result, not an exception.
 */
export function run(
  file: string,
  args: readonly string[],
  { account, cwd, outputTo = -1 }: RunOptions = {},
): Promise<ProgramResult> {
  return new Promise((resolve) => {
    const sink = outputTo < 0 ? "pipe" : outputTo;
    const stdio = ["ignore", sink, sink] as const;
    const detached = process.platform !== "win32";
    let output = "";
    const collect = (text: string): void => void (output += text);
    try {
      const child = spawn(file, args, { ...account, cwd, env: environment(), stdio: [...stdio], detached });
      child.stdout?.setEncoding("utf8").on("data", collect);
      child.stderr?.setEncoding("utf8").on("data", collect);
      child.once("error", ({ message }) => resolve({ code: null, output: message }));
      child.once("close", (code) => resolve({ code, output }));
    } catch (error) {
      resolve({ code: null, output: (error as Error).message });
    }
  });
}

/** Without `PG…` variables, which would redirect PostgreSQL's programs. `LC_ALL=C`: messages in English. */
function environment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith("PG"));
  return { ...Object.fromEntries(kept), LC_ALL: "C", TZ: "UTC" };
}
