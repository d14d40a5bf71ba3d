import { readGenerationEnvironment } from "@routewright/runtime/model";
import { type Command, Option } from "commander";
import { EXIT, type Outcome } from "../commands/outcome.js";
import { FAIL_ON, type FailOn } from "../diff/verdict.js";
import { type Format, FORMATS } from "../report/report.js";
import type { Then } from "./then.js";

interface DiffFlags {
  readonly format: Format;
  readonly failOn: FailOn;
  readonly generated: string;
  readonly accept?: string;
  readonly prune?: boolean;
  readonly catalog?: string;
}

export function addDiff(command: Command, then: Then): void {
  command
    .description("report changes between two catalogues that affect API consumers")
    .argument("<base>", "a manifest (file or URL), a generated folder, or git:<ref>")
    .argument("<head>", "likewise")
    .addOption(new Option("--format <format>", "output format").choices(FORMATS).default("text"))
    .addOption(new Option("--fail-on <changes>", "exit 1 at these").choices(FAIL_ON).default("breaking"))
    .option("--generated <folder>", "the generated folder that git:<ref> means", "generated")
    .option("--accept <file>", "accepted changes (default: .routewright-accept.json if there is one)")
    .option("--prune", "remove entries from the accept file that match no change")
    .option("--catalog <file or URL>", "dbt's catalog.json, for a revision that is a manifest")
    .action((base: string, head: string, flags: DiffFlags) => then(startDiff(base, head, flags)));
}

async function startDiff(base: string, head: string, flags: DiffFlags): Promise<Outcome> {
  const { environment, problems } = readGenerationEnvironment(process.env);
  if (problems.length > 0) return { exit: EXIT.error, errors: problems };
  const [{ diff }, { terminalOf }, { loadPolicy }] = await Promise.all([
    import("../commands/diff.js"),
    import("../report/render.js"),
    import("../policy.js"),
  ]);
  const reading = await loadPolicy();
  if (!reading.ok) return { exit: EXIT.error, errors: reading.problems };
  const { severities, minimumNoticeDays, accept } = reading.policy;
  const today = new Date().toISOString().slice(0, 10);
  const terminal = terminalOf(process.stdout, process.env);
  const { defaultTier } = environment;
  const policy = { severities, minimumNoticeDays, accept: flags.accept ?? accept };
  return diff({ ...flags, ...policy, base, head, today, cwd: process.cwd(), defaultTier, terminal });
}
