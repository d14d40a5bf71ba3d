import "./only-the-database.js";
import { atEnd } from "../../support/at-end.js";
import { randomBytes } from "node:crypto";
import { expect } from "vitest";
import { type PollingPolicy, DEFAULT_POLLING_POLICY } from "../../../runtime/ramp/intents/lease.js";
import { SANDBOX_PROVIDERS, startSandbox } from "../../../runtime/ramp/sandbox/sandbox-server.js";
import type { SwitchChange } from "../../../runtime/ramp/sandbox/behaviour.js";
import { documentRoute, documentRoutes } from "../../../runtime/pages/pages.js";
import { guideRoutes } from "../../../runtime/ramp/guide.js";
import { TITLE } from "../../../runtime/ramp/api/openapi.js";
import { Vault } from "../../../runtime/ramp/core/vault.js";
import { registerIdentityProvider } from "../../../runtime/ramp/operator/identity-providers.js";
import { connectProvider } from "../../../runtime/ramp/operator/integrations.js";
import { addWebhook, type WebhookAddress } from "../../../runtime/ramp/webhooks/endpoints.js";
import type { Outcome } from "../../../runtime/core/model/outcome.js";
import {
  createOrganization,
  createProject,
  findProject,
  type ProjectCredentials,
  type ProjectSettings,
} from "../../../runtime/ramp/operator/projects.js";
import type { ProjectId } from "../../../runtime/ramp/database/id.js";
import { openDatabase, type RampDatabase } from "../../../runtime/ramp/database/ramp-database.js";
import { type RampOptions, startRamp } from "../../../runtime/ramp/start-ramp.js";
import { ownDatabase, queryAt, queryKept } from "../../support/database.js";
import { migratedDatabase } from "./migrated.js";
import { SERVER } from "./server.js";

export { ownDatabase, queryAt };

export const SECRETS_KEY = Buffer.alloc(32, 7);

/** The ordinary rhythm, but fast enough to wait for. */
export const FAST: PollingPolicy = {
  ...DEFAULT_POLLING_POLICY,
  // What an owner still does is done by another one once its lease has ended, as on a machine that pauses.
  leaseMs: 20_000,
  compliancePollMs: 500,
  executionPollMs: 300,
  maxPollMs: 500,
  firstBackoffMs: 100,
  maxBackoffMs: 500,
  followUpPollMs: 500,
  maxFollowUpPollMs: 500,
  // Tests read from an answer what the provider said, on a busy machine too.
  answerWithinMs: 10_000,
};

export interface OwnSandbox {
  readonly url: string;
  set(switches: SwitchChange): Promise<void>;
  /** Ids of the executions that were really made. */
  executed(): Promise<string[]>;
}

/** The sandbox's two providers. */
export async function ownSandbox(): Promise<OwnSandbox> {
  const { url, stop } = await startSandbox({ host: "127.0.0.1", port: 0, switches: { settleMs: 50 } });
  atEnd(stop);
  return {
    url,
    async set(switches) {
      const response = await fetch(`${url}/switches`, { method: "POST", body: JSON.stringify(switches) });
      if (!response.ok) throw new Error(await response.text());
    },
    executed: async () => (await (await fetch(`${url}/executed`)).json()) as string[],
  };
}

export function made<T>(outcome: Outcome<T>): T {
  if (!outcome.ok) throw new Error(outcome.problems.join(" "));
  return outcome.value;
}

export interface TestProject extends ProjectCredentials {
  readonly id: ProjectId;
  readonly basic: string;
}

export interface ProjectOptions extends Partial<ProjectSettings> {
  readonly providers?: readonly string[];
  readonly ttl?: number;
}

interface AddedWebhook {
  readonly webhookId: string;
  readonly secret: string;
}

export interface World {
  readonly databaseUrl: string;
  /** The ramp's address. */
  readonly url: string;
  readonly database: RampDatabase;
  readonly vault: Vault;
  readonly sandbox: OwnSandbox;
  project(options?: ProjectOptions): Promise<TestProject>;
  identityProvider(project: TestProject, issuer: string, audience: string, skew?: number): Promise<void>;
  /** Adds a webhook; private addresses are allowed. */
  webhook(project: TestProject, url: string, more?: Partial<WebhookAddress>): Promise<AddedWebhook>;
  /** Rows as the database's owner sees them. */
  rows(sql: string, values?: readonly unknown[]): Promise<Record<string, unknown>[]>;
  /** Whether a query gives `true`. */
  holds(sql: string, values?: readonly unknown[]): Promise<boolean>;
  call(
    method: "GET" | "POST" | "QUERY" | "HEAD" | "PUT" | "PATCH" | "DELETE",
    path: string,
    options?: CallOptions,
  ): Promise<Reply>;
  stop(): Promise<void>;
}

export interface CallOptions {
  readonly auth?: string;
  readonly key?: string;
  readonly body?: unknown;
  /** A body as it is sent. */
  readonly text?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // Each test states what it expects of it.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly json: any;
}

/**
 * A ramp on a database of its own with both sandbox providers at hand; stopped at the end of the test file.
 * @param addressOf where the ramp finds the database, such as a proxy
 */
export async function ownWorld(
  options: Partial<RampOptions> = {},
  addressOf: (databaseUrl: string) => string | Promise<string> = (databaseUrl) => databaseUrl,
): Promise<World> {
  const url = await migratedDatabase();
  const rows: World["rows"] = (sql, values) => queryKept(url, sql, values);
  const sandbox = await ownSandbox();
  const { searchPath } = options;
  const { connectTimeoutMs } = SERVER;
  const opened = { url, onIdleError: () => undefined, maxConnections: 4, searchPath, connectTimeoutMs };
  const database = await openDatabase(opened);
  const vault = new Vault(SECRETS_KEY);
  const ramp = await startRamp({
    databaseUrl: await addressOf(url),
    secretsKey: SECRETS_KEY,
    ...SERVER,
    polling: FAST,
    providerCalls: { timeoutMs: 30_000, quoteTimeoutMs: 30_000, breakerPauseMs: 500 },
    docs: [...documentRoutes(TITLE), ...guideRoutes(documentRoute)],
    ...options,
  });
  let stopped: Promise<void> | undefined;
  const stop = (): Promise<void> => (stopped ??= ramp.stop().then(() => database.close()));
  atEnd(stop);
  return {
    databaseUrl: url,
    url: ramp.url,
    database,
    vault,
    sandbox,
    stop,
    call: (method, path, more) => call(ramp.url, method, path, more),
    project: (given) => newProject(database, vault, sandbox, given),
    async identityProvider(project, issuer, audience, skew = 0) {
      made(
        await registerIdentityProvider(database, project.id, {
          issuer,
          audiences: [audience],
          clockSkewSeconds: skew,
          jwksUrl: null,
          allowHttp: false,
        }),
      );
    },
    webhook: async (project, target, more) =>
      made(await addWebhook(database, vault, project.id, { url: target, allowPrivate: true, ...more })),
    rows,
    holds: async (sql, values) => Object.values((await rows(sql, values))[0] ?? {})[0] === true,
  };
}

export async function newProject(
  database: RampDatabase,
  vault: Vault,
  sandbox: Pick<OwnSandbox, "url"> | null,
  { providers = SANDBOX_PROVIDERS.map(({ code }) => code), ttl = 0, ...settings }: ProjectOptions = {},
): Promise<TestProject> {
  const { organizationId } = made(await createOrganization(database, "Test"));
  const credentials = made(
    await createProject(database, { organizationId, name: "Test", tokenTtlSeconds: ttl, ...settings }),
  );
  const id = made(await findProject(database, credentials.projectId));
  for (const { code, path, keyId, secret } of SANDBOX_PROVIDERS.filter(({ code }) =>
    providers.includes(code),
  ))
    made(
      await connectProvider(database, vault, id, {
        provider: code,
        url: `${sandbox?.url ?? ""}${path}`,
        keyId,
        secret,
      }),
    );
  const { clientId, clientSecret } = credentials;
  return {
    ...credentials,
    id,
    basic: `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString("base64")}`,
  };
}

/** One request, and its answer whole. */
export async function call(
  base: string,
  method: string,
  path: string,
  options: CallOptions = {},
): Promise<Reply> {
  const { auth, key, body, text, headers = {} } = options;
  const sent = text ?? (body === undefined ? undefined : JSON.stringify(body));
  const response = await fetch(base + path, {
    method,
    redirect: "manual",
    headers: {
      ...(auth === undefined ? {} : { authorization: auth }),
      ...(key === undefined ? {} : { "idempotency-key": key }),
      ...(sent === undefined ? {} : { "content-type": "application/json" }),
      ...headers,
    },
    ...(sent === undefined ? {} : { body: sent }),
  });
  const answer = await response.text();
  return { status: response.status, headers: response.headers, text: answer, json: parsed(answer) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** All of these were refused so. */
export function expectRefused(replies: readonly Reply[], status: number, code: string): void {
  expect(replies.map((reply) => [reply.status, reply.json.error])).toEqual(replies.map(() => [status, code]));
}

/** Waits until an intent has a status; `path`: of the intent. */
export function reached(
  world: Pick<World, "call">,
  path: string,
  options: CallOptions,
  status: string,
  longestPauseMs?: number,
): Promise<Reply> {
  const read = (): Promise<Reply> => world.call("GET", path, options);
  return eventually(read, ({ json }) => json.intent.status === status, undefined, longestPauseMs);
}

/** Waits until this is so. */
export async function untilTrue(isSo: () => boolean | Promise<boolean>, limitMs?: number): Promise<void> {
  const read = async (): Promise<boolean | string> => (await isSo()) || String(isSo);
  await eventually(read, (found) => found === true, limitMs);
}

/** A bearer header of a new customer. */
export async function newCustomer(
  world: World,
  project: TestProject,
  id = `customer-${randomBytes(4).toString("hex")}`,
): Promise<string> {
  const { status, json, text } = await world.call("POST", "/v1/customers", {
    auth: project.basic,
    body: { id },
  });
  if (status !== 201) throw new Error(text);
  return `Bearer ${(json as { accessToken: string }).accessToken}`;
}

export const WALLET = "0x52908400098527886E0F7030069857D2E4169EE7";

/** The body of an on-ramp that Sandbox South executes without an identity check when it is small. */
export function onramp(more: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  return {
    src: { currencyCode: "USD", details: { countryCode: "US", rail: "ACH", provider: "sandbox-south" } },
    dest: { currencyCode: "USDC_POLYGON", details: { address: WALLET } },
    srcAmount: "100.00",
    ...more,
  };
}

/** The body of an on-ramp for which Sandbox North checks the customer's identity. */
export const north = (more: Readonly<Record<string, unknown>> = {}): Record<string, unknown> =>
  onramp({
    src: { currencyCode: "USD", details: { countryCode: "US", rail: "ACH", provider: "sandbox-north" } },
    ...more,
  });

/** Of the first pause; the next ones grow. */
const FIRST_PAUSE_MS = 30;

/** Reads until the value is as expected. Each reading takes a processor from what is waited for. */
export async function eventually<T>(
  read: () => Promise<T>,
  isExpected: (value: T) => boolean,
  // A bound of tests that hang.
  limitMs = 120_000,
  longestPauseMs = 200,
): Promise<T> {
  const deadline = Date.now() + limitMs;
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 1.5, longestPauseMs)) {
    const value = await read();
    if (isExpected(value)) return value;
    if (Date.now() > deadline)
      throw new Error(`Not the expected state: ${JSON.stringify(value).slice(0, 4_000)}`);
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}
