import { Option } from "commander";
import { clientFiles, type Language, LANGUAGES } from "../client/client-files.js";
import type { ValueForms } from "../client/typescript-client.js";
import { readRevision } from "../diff/revision.js";
import { updateFolder } from "../output/update.js";
import { driftLines } from "../report/generate-report.js";
import { type CliCommand, EXIT, OPTIONS, type CommandResult, withSettings } from "./command.js";

interface Flags {
  readonly out: string;
  readonly language: Language;
  readonly check: boolean;
  readonly numbers?: ValueForms["numbers"];
  readonly dates?: ValueForms["dates"];
  readonly generated?: string;
}

export function configureClient(command: CliCommand): void {
  command
    .argument(
      "[catalogue]",
      "a generated folder, a manifest (file or URL), or git:<ref> (default: the generated folder)",
    )
    .option("--out <folder>", "the client's folder", "client")
    .addOption(
      new Option("--language <language>", "what the client is written in")
        .choices(LANGUAGES)
        .default("typescript"),
    )
    .addOption(
      new Option(
        "--numbers <form>",
        "TypeScript: numbers that may have more digits than a JavaScript number (default: string)",
      ).choices(["string", "number"]),
    )
    .addOption(
      new Option(
        "--dates <form>",
        "TypeScript: points in time, as text or as Date (default: string)",
      ).choices(["string", "date"]),
    )
    .option("--check", "write nothing; exit 1 when the client is not up to date", false)
    .addOption(OPTIONS.generated())
    .runs(client)
    .helpEnd(
      [
        "client --out client",
        "client --dates date --numbers number",
        "client --language python --out shop_api",
      ],
      {
        1: "--check and the client is not up to date",
      },
    );
}

const TYPESCRIPT_ONLY =
  "--numbers and --dates are for TypeScript: a Python client gives all digits, and its data frames hold dates and times.";

/** `routewright client`: a client for the API of a catalogue (generator/README.md, Client). */
function client(revision: string | undefined, flags: Flags): Promise<CommandResult> {
  const { out, language, check, generated, numbers, dates } = flags;
  return withSettings({ generated }, async (settings) => {
    if (language !== "typescript" && (numbers ?? dates) !== undefined)
      return { exit: EXIT.error, errors: [TYPESCRIPT_ONLY] };
    const options = { ...settings, generated: settings.out, cwd: process.cwd() };
    const reading = await readRevision(revision ?? settings.out, options);
    if (!reading.ok) return { exit: EXIT.error, errors: [reading.problem] };
    const files = clientFiles(reading.catalogue, language, {
      numbers: numbers ?? "string",
      dates: dates ?? "string",
    });
    const update = updateFolder(files, { out, check, names: new Set(files.keys()) });
    if (!update.ok) return { exit: EXIT.error, errors: update.problems };
    const exit = check && update.drift.length > 0 ? EXIT.findings : EXIT.ok;
    const count = reading.catalogue.entries.length;
    const summary = `${String(count)} ${count === 1 ? "endpoint" : "endpoints"} in ${out}`;
    return {
      exit,
      output: `${[...driftLines(out, check, update.drift), summary].join("\n")}\n`,
      isStatus: true,
    };
  });
}
