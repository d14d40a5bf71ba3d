import { spawn } from "node:child_process";
import { once } from "node:events";
import { CLI } from "../commands/run.js";

/** A pseudo-terminal around a command: Python has one in its standard library. */
const PTY = `import os, pty, sys
pid, fd = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
while True:
    try:
        data = os.read(fd, 65536)
    except OSError:
        break
    if not data:
        break
    os.write(1, data)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))`;

/** Runs `routewright` at a terminal and returns all that it shows, escape sequences too. */
export async function atTerminal(
  cwd: string,
  args: readonly string[],
  variables: Readonly<Record<string, string>> = {},
): Promise<{ readonly exit: number; readonly shown: string }> {
  const { PATH = "" } = process.env;
  const env = { PATH, TERM: "xterm", ...variables };
  const child = spawn("python3", ["-c", PTY, process.execPath, CLI, ...args], { cwd, env });
  let shown = "";
  child.stdout.on("data", (chunk: Buffer) => (shown += chunk.toString()));
  const [exit] = (await once(child, "close")) as [number];
  return { exit, shown: shown.replaceAll("\r\n", "\n") };
}
