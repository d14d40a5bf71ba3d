import { customerIdOf, isUuid, newId, type ProjectId, projectId } from "../database/id.js";
import { randomBytes } from "node:crypto";
import { secretHash } from "../sign-in/project-credentials.js";
import type { RampDatabase } from "../database/ramp-database.js";
import { columnOf } from "../database/session.js";
import type { OperatorTransaction } from "../database/transaction.js";
import { failed, type Outcome, succeeded } from "@routewright/runtime/internal/core/model/outcome.js";
import type { Vault } from "../core/vault.js";
import { REVOKE_TOKENS, rotateSigningKey } from "../sign-in/customer-token.js";
import { chainIdOf } from "../sign-in/contract-signature.js";
import { isOrigin } from "../core/json-schema.js";

export async function createOrganization(
  database: RampDatabase,
  name: string,
): Promise<Outcome<{ organizationId: string; name: string }>> {
  if (name.trim() === "") return failed("The name is empty.");
  const row = { id: newId(), name: name.trim() };
  await database.asOperator((tx) => Promise.resolve(tx.insert("organizations", row)));
  return succeeded({ organizationId: row.id, name: row.name });
}

export interface NewProject extends Partial<ProjectSettings> {
  readonly organizationId: string;
  readonly name: string;
}

export interface ProjectCredentials {
  readonly projectId: string;
  readonly clientId: string;
  /** Shown this once. */
  readonly clientSecret: string;
}

export async function createProject(
  database: RampDatabase,
  project: NewProject,
): Promise<Outcome<ProjectCredentials>> {
  const { organizationId, ...settings } = project;
  const problem = settingsProblem(settings);
  if (problem !== null) return failed(problem);
  return database.asOperator(async (tx) => {
    const organization =
      isUuid(organizationId) &&
      (await tx.row("SELECT FROM ramp.organizations WHERE id = $1", [organizationId]));
    if (!organization)
      return failed(`There is no organization ${organizationId}. \`routewright ramp org list\` shows all.`);
    const id = newId();
    const clientId = `ramp_${randomBytes(12).toString("hex")}`;
    const name = settings.name.trim();
    tx.insert("projects", { id, organizationId, name, clientId });
    await writeSettings(tx, id, settings);
    const { clientSecret } = insertSecret(tx, id);
    return succeeded({ projectId: id, clientId, clientSecret });
  });
}

function insertSecret(
  tx: OperatorTransaction,
  projectId: string,
): { readonly secretId: string; readonly clientSecret: string } {
  const secretId = newId();
  const clientSecret = `rws_${randomBytes(32).toString("base64url")}`;
  tx.insert("client_secrets", { id: secretId, projectId, hash: secretHash(clientSecret) });
  return { secretId, clientSecret };
}

/** The id of a project that exists. */
export async function findProject(database: RampDatabase, id: string): Promise<Outcome<ProjectId>> {
  const found = isUuid(id) && (await database.operator.row("SELECT FROM ramp.projects WHERE id = $1", [id]));
  return found
    ? succeeded(projectId(id.toLowerCase()))
    : failed(`There is no project ${id}. \`routewright ramp project list\` shows all.`);
}

/** Adds a second secret, so that clients can change over without an interruption (runtime/ramp/docs/operations.md, Set-up). */
export async function addSecret(
  database: RampDatabase,
  id: ProjectId,
): Promise<Outcome<{ secretId: string; clientSecret: string }>> {
  try {
    return succeeded(await database.asOperator((tx) => Promise.resolve(insertSecret(tx, id))));
  } catch (error) {
    // A trigger allows two valid secrets (database/migrations/0001_schema.sql).
    if ((error as { code?: string }).code === "RW002") return failed((error as Error).message);
    throw error;
  }
}

export async function revokeSecret(
  database: RampDatabase,
  id: ProjectId,
  secretId: string,
): Promise<Outcome<{ secretId: string }>> {
  const revoked =
    isUuid(secretId) &&
    (await database.operator.row(
      "UPDATE ramp.client_secrets SET revoked_at = now() WHERE project_id = $1 AND id = $2 AND revoked_at IS NULL RETURNING id",
      [id, secretId],
    ));
  return revoked
    ? succeeded({ secretId })
    : failed(`The project has no valid secret ${secretId}. \`routewright ramp secret list\` shows all.`);
}

/** Creates a key that signs customer tokens from now on. Tokens of earlier keys stay valid. */
export async function rotateKey(database: RampDatabase, vault: Vault): Promise<{ readonly kid: string }> {
  return { kid: await database.asOperator((tx) => rotateSigningKey(tx, vault)) };
}

/** Refuses all tokens of a key from now on; the current one is replaced. Running servers follow within 20 seconds. */
export async function revokeKey(
  database: RampDatabase,
  vault: Vault,
  kid: string,
): Promise<Outcome<{ readonly kid: string }>> {
  return database.asOperator(async (tx) => {
    const row = await tx.row<{ retired_at: Date | null }>(
      "UPDATE ramp.signing_keys SET revoked_at = now() WHERE kid = $1 AND revoked_at IS NULL RETURNING retired_at",
      [kid],
    );
    if (row === null)
      return failed(`There is no valid signing key ${kid}. \`routewright ramp key list\` shows all.`);
    if (row.retired_at === null) await rotateSigningKey(tx, vault);
    return succeeded({ kid });
  });
}

/** Revokes all tokens that a customer, by its id or the caller's own, has now; `POST /v1/customers` issues a new one. */
export async function revokeCustomerTokens(
  database: RampDatabase,
  id: ProjectId,
  customer: string,
): Promise<Outcome<{ customer: string }>> {
  const revoked = await database.of(id).row(REVOKE_TOKENS, [customerIdOf(id, customer)]);
  return revoked ? succeeded({ customer }) : failed(`The project has no customer ${customer}.`);
}

/** Settings of a project (runtime/ramp/docs/operations.md, Set-up). What is left out stays as it is; an empty list empties it. */
export interface ProjectSettings {
  readonly name: string;
  /** Added to the expiry of a subject token. */
  readonly tokenTtlSeconds: number;
  /** Longest lifetime of a customer token. */
  readonly maxTokenSeconds: number;
  /** Origins that may frame the hosted pages. */
  readonly pageOrigins: readonly string[];
  /** Origins that redirect URLs may have; none: any. */
  readonly redirectOrigins: readonly string[];
  /** Hosts of the sites whose wallet sign-ins are accepted; none: no wallet sign-in. */
  readonly walletDomains: readonly string[];
  /** How far, in percent, the received amount may be from a held price. */
  readonly amountTolerance: string;
}

/** What is wrong with settings, or null. */
function settingsProblem(settings: Partial<ProjectSettings>): string | null {
  const { name, pageOrigins = [], redirectOrigins = [], walletDomains = [] } = settings;
  if (name !== undefined && name.trim() === "") return "The name is empty.";
  const origin = [...pageOrigins, ...redirectOrigins].find((text) => !isOrigin(text));
  if (origin !== undefined) return `${origin} is not an origin such as https://app.example.com.`;
  const domain = walletDomains.find((text) => !isHost(text));
  if (domain !== undefined) return `${domain} is not a host such as app.example.com or localhost:3000.`;
  const { amountTolerance } = settings;
  if (
    amountTolerance !== undefined &&
    !(/^\d{1,2}(\.\d{1,4})?$/.test(amountTolerance) && Number(amountTolerance) <= 50)
  )
    return "The amount tolerance must be a percentage from 0 to 50, such as 0.5.";
  return null;
}

function isHost(text: string): boolean {
  return (
    /^[a-z0-9.:[\]-]+$/.test(text) &&
    URL.canParse(`http://${text}`) &&
    new URL(`http://${text}`).host === text
  );
}

/** Writes settings that `settingsProblem` found nothing wrong with, each in the column of its name. */
async function writeSettings(
  tx: OperatorTransaction,
  projectId: string,
  settings: Partial<ProjectSettings>,
): Promise<void> {
  for (const [name, value] of Object.entries(settings)) {
    const given = typeof value === "string" ? value.trim() : value;
    await tx.rows(`UPDATE ramp.projects SET ${columnOf(name)} = $2 WHERE id = $1`, [projectId, given]);
  }
}

interface ProjectChange extends Partial<ProjectSettings> {
  /** Addresses of Ethereum nodes as `<chain id>=<URL>`; replaces all of them. */
  readonly walletRpc?: readonly string[];
}

/** Changes a project's settings. Each node must answer with its chain id. */
export async function updateProject(
  { database, vault }: { readonly database: RampDatabase; readonly vault: Vault },
  projectId: ProjectId,
  { walletRpc, ...settings }: ProjectChange,
): Promise<Outcome<{ projectId: string }>> {
  const wrong = settingsProblem(settings);
  if (wrong !== null) return failed(wrong);
  const nodes = walletRpc && (await readNodes(walletRpc));
  if (typeof nodes === "string") return failed(nodes);
  await database.asOperator(async (tx) => {
    await writeSettings(tx, projectId, settings);
    if (nodes === undefined) return;
    const sealed = vault.seal(`wallet-rpc:${projectId}`, JSON.stringify(nodes));
    await tx.rows("UPDATE ramp.projects SET wallet_rpc = $2 WHERE id = $1", [projectId, sealed]);
  });
  return succeeded({ projectId });
}

/** Nodes by chain id, or what is wrong with them. Addresses are not repeated: they often carry an API key. */
async function readNodes(given: readonly string[]): Promise<Readonly<Record<string, string>> | string> {
  const nodes: Record<string, string> = {};
  for (const text of given) {
    const [, chain = "", url = ""] = /^([1-9]\d{0,14})=(https?:\/\/\S+)$/.exec(text) ?? [];
    if (!URL.canParse(url))
      return "A wallet RPC address is not of the form <chain id>=<URL>, such as 1=https://…";
    const served = await chainIdOf(url);
    if (served === null) return `The node of chain ${chain} does not answer eth_chainId.`;
    if (served !== Number(chain)) return `The node of chain ${chain} serves chain ${String(served)}.`;
    nodes[chain] = url;
  }
  return nodes;
}
