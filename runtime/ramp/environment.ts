import { isIP } from "node:net";
import { postgresAddressProblem } from "@routewright/runtime/internal/core/model/postgres-address.js";
import {
  checkedAddress,
  commonSettings,
  publicAddress,
} from "@routewright/runtime/internal/core/environment/common.js";
import {
  readVariables,
  SECRETS_KEY_EXPECTED,
  parseSecretsKey,
  Variables,
} from "@routewright/runtime/internal/core/environment/variables.js";

/** The ramp's settings from the environment variables (runtime/ramp/docs/settings.md). */
export type RampEnvironment = Readonly<ReturnType<typeof rampSettings>>;

/** Reads the variables of the ramp. Reports every invalid one, not only the first. */
export function readRampEnvironment(source: Readonly<Record<string, string | undefined>>) {
  return readVariables(source, rampSettings);
}

export function rampSettings(variables: Variables) {
  const common = commonSettings(variables);
  const ownDatabaseUrl = checkedAddress(variables, "RAMP_DATABASE_URL", postgresAddressProblem);
  return {
    ...common,
    /** PostgreSQL, by default the data API's; null: the embedded one. */
    databaseUrl: ownDatabaseUrl ?? common.databaseUrl,
    port: variables.whole("RAMP_PORT", 8001, { min: 0, max: 65_535 }),
    /** Null: the address that the server listens on. */
    publicUrl: publicAddress(variables, "RAMP_PUBLIC_URL"),
    /** Requests a minute. */
    limits: {
      perCustomer: variables.whole("RAMP_CUSTOMER_LIMIT", 120, { min: 1, max: 1_000_000 }),
      perProject: variables.whole("RAMP_PROJECT_LIMIT", 600, { min: 1, max: 1_000_000 }),
      perAddress: variables.whole("RAMP_ADDRESS_LIMIT", 600, { min: 1, max: 1_000_000 }),
      failedLoginsPerAddress: variables.whole("RAMP_FAILED_LOGIN_LIMIT", 60, { min: 1, max: 1_000_000 }),
      documentsPerAddress: variables.whole("RAMP_DOCUMENT_LIMIT", 300, { min: 1, max: 1_000_000 }),
    },
    /** Name servers of the names that projects choose; empty: the system's. */
    nameServers: variables.parsedList(
      "RAMP_NAME_SERVERS",
      "IP addresses, with a port or without",
      nameServerOf,
    ),
    /** A file of assets and chains beside the defaults; null: none. */
    assetsFile: variables.text("RAMP_ASSETS_FILE"),
    /** How long events, deliveries and provider answers are kept. */
    retentionDays: variables.whole("RAMP_RETENTION_DAYS", 90, { min: 1, max: 3_650 }),
    /** How long the order of an ended intent is looked up. */
    followUpDays: variables.whole("RAMP_FOLLOW_UP_DAYS", 60, { min: 1, max: 3_650 }),
    intentLifetimeSeconds: variables.whole("RAMP_INTENT_LIFETIME_SECONDS", 86_400, {
      min: 60,
      max: 2_592_000,
    }),
    /** 32 bytes; null: a generated key beside the embedded database. */
    secretsKey: variables.parsed("RAMP_SECRETS_KEY", null, SECRETS_KEY_EXPECTED, parseSecretsKey),
    /** Keys from before or after a rotation: used for decryption only. */
    otherSecretsKeys: variables.parsedList("RAMP_OTHER_SECRETS_KEYS", SECRETS_KEY_EXPECTED, parseSecretsKey),
  };
}

/** `10.0.0.2`, `10.0.0.2:53` or `[::1]:53`; null: neither. */
function nameServerOf(text: string): string | null {
  const [, address = text, port = "53"] =
    /^(?:\[([^\]]+)\]|([^:]+))(?::([0-9]{1,5}))?$/.exec(text)?.filter(Boolean) ?? [];
  return isIP(address) !== 0 && Number(port) <= 65_535 ? text : null;
}

/** The settings where no variable is set. */
export const RAMP_DEFAULTS: RampEnvironment = rampSettings(new Variables({}));
