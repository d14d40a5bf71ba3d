import type { Settings } from "../config.js";
import { redactedLocation } from "../artifacts/source.js";
import { visible } from "../manifest/strings.js";
import { type CliCommand, type CommandResult, EXIT, withSettings } from "./command.js";

export function configure(command: CliCommand): void {
  command
    .option("--json", "print JSON", false)
    .runs(({ json }: { json: boolean }) => withSettings({}, (settings) => config(settings, json)))
    .helpEnd(["config", "config --json"], { 2: "the config file or a variable is invalid" });
}

/** `routewright config`: the value in force of every key of the config file, and what set it. The pipelines read the generated folder's name. */
function config({ inForce }: Settings, json: boolean): CommandResult {
  const settings = Object.entries(inForce).map(([key, { value, from }]) => {
    return [key, { value: withoutSecrets(value), from }] as const;
  });
  const output = json
    ? JSON.stringify(Object.fromEntries(settings), null, 2)
    : settings
        .map(([key, { value, from }]) => visible(`${key.padEnd(18)} ${textOf(value)}  (${from})`))
        .join("\n");
  return { exit: EXIT.ok, output: `${output}\n` };
}

/** An address may hold a password or a signature. */
function withoutSecrets(value: unknown): unknown {
  return typeof value === "string" ? redactedLocation(value) : value;
}

function textOf(value: unknown): string {
  return value === null ? "-" : typeof value === "string" ? value : JSON.stringify(value);
}
