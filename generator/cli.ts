import { Command, CommanderError } from "commander";
import { addDiff } from "./command-line/diff.js";
import { addGenerate } from "./command-line/generate.js";
import { addKeys } from "./command-line/keys.js";
import { addLint } from "./command-line/lint.js";
import { addRamp } from "./commands/ramp.js";
import { addServe } from "./command-line/serve.js";
import { addUsage } from "./command-line/usage.js";
import { addVerify } from "./commands/verify.js";
import { addWatch } from "./command-line/watch.js";
import { EXIT, type Outcome } from "./commands/outcome.js";

/** Runs the command line and returns its exit code. A command's code is loaded only when it is called. */
export async function run(argv: readonly string[]): Promise<number> {
  let exit: number = EXIT.ok;
  const program = new Command("routewright")
    .description("Turns a dbt manifest into a typed, tier-gated HTTP API.")
    .exitOverride()
    .configureHelp({ showGlobalOptions: true });
  const command = (name: string): Command => program.command(name).exitOverride();
  const then = (outcome: Promise<Outcome>): Promise<void> => outcome.then((done) => void (exit = tell(done)));
  addGenerate(command("generate"), then);
  addDiff(command("diff"), then);
  addLint(command("lint"), then);
  addVerify(command("verify"), then);
  addWatch(command("watch"), then);
  addServe(command("serve"), then);
  addKeys(command("keys"), then);
  addUsage(command("usage"), then);
  addRamp(command("ramp"), then);
  try {
    await program.parseAsync(argv, { from: "user" });
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.error;
    return tell({ exit: EXIT.error, errors: [error instanceof Error ? error.message : String(error)] });
  }
  return exit;
}

function tell({ exit, output = "", notes = [], errors = [] }: Outcome): number {
  // An empty write to a full disk fails as well.
  if (output !== "") process.stdout.write(output);
  for (const line of notes) process.stderr.write(`${line}\n`);
  for (const line of errors) process.stderr.write(`error: ${line}\n`);
  return exit;
}
