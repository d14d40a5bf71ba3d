import type { Settings } from "../config.js";
import { redactedLocation } from "../manifest/source.js";
import { visible } from "../manifest/strings.js";
import { type CliCommand, type CommandResult, EXIT, withSettings } from "./command.js";

export function configure(command: CliCommand): void {
  command
    .option("--json", "print JSON", false)
    .runs(({ json }: { json: boolean }) => withSettings({}, (settings) => config(settings, json)))
    .helpEnd(["config", "config --json"], { 2: "the config file or a variable is invalid" });
}

/** `routewright config`: the value in force of every key of the config file. The pipelines read the generated folder's name. */
function config({ inForce }: Settings, json: boolean): CommandResult {
  const settings = Object.entries(inForce).map(([key, value]) => [key, withoutSecrets(value)] as const);
  const output = json
    ? JSON.stringify(Object.fromEntries(settings.map(([key, value]) => [key, { value }])), null, 2)
    : settings.map(([key, value]) => visible(`${key.padEnd(18)} ${textOf(value)}`)).join("\n");
  return { exit: EXIT.ok, output: `${output}\n` };
}

/** An address may hold a password or a signature. */
function withoutSecrets(value: unknown): unknown {
  return typeof value === "string" ? redactedLocation(value) : value;
}

function textOf(value: unknown): string {
  return value === null ? "-" : typeof value === "string" ? value : JSON.stringify(value);
}
