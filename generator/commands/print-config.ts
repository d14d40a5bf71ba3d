import type { Setting, Settings } from "../config.js";
import { visible } from "../manifest/strings.js";
import { redactedLocation } from "../manifest/source.js";
import { type CliCommand, EXIT, type CommandResult, withSettings } from "./command.js";

export function configureConfig(command: CliCommand): void {
  command
    .option("--json", "print JSON", false)
    .runs(({ json }: { json: boolean }) => withSettings({}, (settings) => config(settings, json)))
    .helpEnd(["config", "config --json"], { 2: "the config file or a variable is invalid" });
}

/** `routewright config`: every setting with its value and where that comes from. */
function config({ all }: Settings, json: boolean): CommandResult {
  const settings = all.map(({ key, value, origin }) => ({ key, value: withoutSecrets(value), origin }));
  const output = json
    ? JSON.stringify(Object.fromEntries(settings.map(({ key, ...rest }) => [key, rest])), null, 2)
    : settings.map(lineOf).join("\n");
  return { exit: EXIT.ok, output: `${output}\n` };
}

/** An address may hold a password or a signature. */
function withoutSecrets(value: unknown): unknown {
  return typeof value === "string" ? redactedLocation(value) : value;
}

function lineOf({ key, value, origin }: Setting): string {
  const text = value === null ? "-" : typeof value === "string" ? value : JSON.stringify(value);
  return visible(`${key.padEnd(18)} ${text}  (${origin})`);
}
