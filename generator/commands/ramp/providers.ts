import { failed } from "@routewright/runtime/model";
import { type CliCommand, type CommandResult, EXIT, failure, stopSignal } from "../command.js";
import { loadRamp, rampMissing } from "../ramp-package.js";
import { type Flags, type Group, integerBetween, secretOf, text } from "./group.js";

/** Environment variable of a provider credential's secret. */
const PROVIDER_SECRET = "RAMP_PROVIDER_SECRET";
const NO_SECRET = `Give the secret in ${PROVIDER_SECRET} or with --secret.`;

export function addProviders({ addForProject }: Group): void {
  addForProject(
    "connect",
    "connect a provider, or change its credentials",
    "--provider coinway --url https://api.coinway.example --key-id key_1 --secret - < secret.txt",
    async ({ ramp, database, vault }, id, flags) => {
      const secret = secretOf(flags, "secret", PROVIDER_SECRET);
      if (secret === null) return failed(NO_SECRET);
      const [provider, url, keyId] = [text(flags, "provider"), text(flags, "url"), text(flags, "keyId")];
      return ramp.connectProvider(database, vault, id, { provider, url, keyId, secret });
    },
  )
    .requiredOption("--provider <code>", "the provider's code")
    .requiredOption("--url <url>", "address of its server")
    .requiredOption("--key-id <id>", "the credential's id")
    .option(
      "--secret <secret>",
      `the credential's secret, stored encrypted; - reads it from standard input, without the flag ${PROVIDER_SECRET} is used`,
    );
  addForProject("list", "list connections", "", ({ ramp, database }, id) =>
    ramp.listRecords(database, "connections", id),
  );
  addForProject(
    "disconnect",
    "send no new intents to a provider",
    "--provider coinway",
    ({ ramp, database }, id, flags) => ramp.disconnectProvider(database, id, text(flags, "provider")),
  ).requiredOption("--provider <code>", "the provider's code");
}

/** `routewright ramp provider test`: for authors of a provider; needs no database. */
export function addProviderTest(parent: CliCommand): void {
  parent
    .command("test")
    .description("run the provider protocol against a provider's sandbox; exit 1 when a check fails")
    .requiredOption("--url <url>", "address of its server")
    .requiredOption("--key-id <id>", "the credential's id")
    .option(
      "--secret <secret>",
      `the credential's secret; - reads it from standard input, else ${PROVIDER_SECRET}`,
    )
    .option("--json", "print JSON", false)
    .runs(runProviderTest)
    .helpEnd(["ramp provider test --url http://127.0.0.1:8002/sandbox-south --key-id key_1"], {
      1: "a check failed",
    });
}

async function runProviderTest(flags: Flags): Promise<CommandResult> {
  const secret = secretOf(flags, "secret", PROVIDER_SECRET);
  if (secret === null) return failure(NO_SECRET);
  if (!URL.canParse(text(flags, "url"))) return failure("--url is not an address.");
  const ramp = await loadRamp();
  if (ramp === null) return failure(rampMissing());
  const checks = await ramp.testProvider({
    url: text(flags, "url"),
    keyId: text(flags, "keyId"),
    secret,
  });
  const lines = checks.map(({ check, ok, detail }) => {
    const said = ok && detail === "ok" ? "" : `: ${detail}`;
    return `${ok ? "ok   " : "FAIL "} ${check}${said}`;
  });
  return {
    exit: checks.every(({ ok }) => ok) ? EXIT.ok : EXIT.findings,
    output: flags.json ? `${JSON.stringify(checks, null, 2)}\n` : `${lines.join("\n")}\n`,
  };
}

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
  const ramp = await loadRamp();
  if (ramp === null) return failure(rampMissing());
  const sandbox = await ramp.startSandbox(flags);
  const connections = ramp.SANDBOX_PROVIDERS.map(
    ({ code, path, keyId, secret }) =>
      `  routewright ramp provider connect --project <id> --provider ${code} --url ${sandbox.url}${path} --key-id ${keyId} --secret ${secret}`,
  );
  const heading = `Sandbox providers on ${sandbox.url}; misbehaviour: ${sandbox.url}/switches, clock: ${sandbox.url}/clock. To connect a project:`;
  process.stdout.write(`${[heading, ...connections].join("\n")}\n`);
  await stopSignal();
  await sandbox.stop();
  return { exit: EXIT.ok };
}
