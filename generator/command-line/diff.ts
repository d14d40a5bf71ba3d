import { readGenerationEnvironment } from "@routewright/runtime/model";
import { type Command, Option } from "commander";
import { EXIT, type Outcome } from "../commands/outcome.js";
import { FAIL_ON, type FailOn } from "../diff/options.js";
import { type Format, FORMATS } from "../report/format.js";
import type { Then } from "./then.js";

interface DiffFlags {
  readonly format: Format;
  readonly failOn: FailOn;
  readonly generated: string;
  readonly accept?: string;
}

export function addDiff(command: Command, then: Then): void {
  command
    .description("tell what consumers of the API will notice")
    .argument("<base>", "a manifest (file or URL), a generated folder, or git:<ref>")
    .argument("<head>", "likewise")
    .addOption(new Option("--format <format>", "how to tell it").choices(FORMATS).default("text"))
    .addOption(new Option("--fail-on <changes>", "exit 1 at these").choices(FAIL_ON).default("breaking"))
    .option("--generated <folder>", "the generated folder that git:<ref> means", "generated")
    .option(
      "--accept <file>",
      "changes that are agreed on (default: .routewright-accept.json if there is one)",
    )
    .action((base: string, head: string, flags: DiffFlags) => then(startDiff(base, head, flags)));
}

async function startDiff(base: string, head: string, flags: DiffFlags): Promise<Outcome> {
  const { environment, problems } = readGenerationEnvironment(process.env);
  if (problems.length > 0) return { exit: EXIT.error, errors: problems };
  const { diff } = await import("../commands/diff.js");
  const today = new Date().toISOString().slice(0, 10);
  return diff({ ...flags, base, head, today, cwd: process.cwd(), defaultTier: environment.defaultTier });
}
