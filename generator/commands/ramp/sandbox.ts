import { type CliCommand, type CommandResult, EXIT, stopSignal } from "../command.js";
import { integerBetween } from "./group.js";

/** `routewright ramp sandbox`: serves two sandbox providers until a signal stops them. */
export function addSandbox(parent: CliCommand): void {
  parent
    .command("sandbox")
    .description("serve two sandbox providers to try the ramp with")
    .option("--host <address>", "address to listen on", "127.0.0.1")
    .option("--port <number>", "port to listen on", integerBetween(0, 65_535), 8002)
    .runs(serveSandbox)
    .helpEnd(["ramp sandbox --port 8002"], { 0: "after a signal" });
}

async function serveSandbox(flags: { readonly host: string; readonly port: number }): Promise<CommandResult> {
  const { SANDBOX_PROVIDERS, startSandbox } = await import("@routewright/runtime/ramp");
  const sandbox = await startSandbox(flags);
  const connections = SANDBOX_PROVIDERS.map(
    ({ code, path, keyId, secret }) =>
      `  routewright ramp provider connect --project <id> --provider ${code} --url ${sandbox.url}${path} --key-id ${keyId} --secret ${secret}`,
  );
  const heading = `Sandbox providers on ${sandbox.url}; switch misbehaviour on at ${sandbox.url}/switches. To connect a project:`;
  process.stdout.write(`${[heading, ...connections].join("\n")}\n`);
  await stopSignal();
  await sandbox.stop();
  return { exit: EXIT.ok };
}
