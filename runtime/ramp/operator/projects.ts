import { isUuid, newId, type ProjectId, projectId } from "../database/id.js";
import { randomBytes } from "node:crypto";
import { secretHash } from "../sign-in/project-credentials.js";
import type { DatabaseRow, OperatorTransaction, RampDatabase } from "../database/ramp-database.js";
import { failed, type Outcome, succeeded } from "../../model/outcome.js";
import { type ProjectSettings, settingsProblem, writeSettings } from "./project-settings.js";
import type { Vault } from "../core/vault.js";
import { revokeTokens } from "../sign-in/revocations.js";
import { rotateSigningKey } from "../sign-in/customer-token.js";

export async function createOrganization(
  database: RampDatabase,
  name: string,
): Promise<Outcome<{ organizationId: string; name: string }>> {
  if (name.trim() === "") return failed("The name is empty.");
  const organizationId = newId();
  await database.asOperator((tx) =>
    tx.rows("INSERT INTO ramp.organizations (id, name) VALUES ($1, $2)", [organizationId, name.trim()]),
  );
  return succeeded({ organizationId, name: name.trim() });
}

export function listOrganizations(database: RampDatabase): Promise<DatabaseRow[]> {
  return database.asOperator((tx) =>
    tx.rows(`SELECT id AS "organizationId", name FROM ramp.organizations ORDER BY created_at, id`),
  );
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
    await tx.rows(
      "INSERT INTO ramp.projects (id, organization_id, name, client_id) VALUES ($1, $2, $3, $4)",
      [id, organizationId, settings.name.trim(), clientId],
    );
    await writeSettings(tx, id, settings);
    const { clientSecret } = await insertSecret(tx, id);
    return succeeded({ projectId: id, clientId, clientSecret });
  });
}

async function insertSecret(
  tx: OperatorTransaction,
  project: string,
): Promise<{ secretId: string; clientSecret: string }> {
  const secretId = newId();
  const clientSecret = `rws_${randomBytes(32).toString("base64url")}`;
  await tx.rows("INSERT INTO ramp.client_secrets (id, project_id, hash) VALUES ($1, $2, $3)", [
    secretId,
    project,
    secretHash(clientSecret),
  ]);
  return { secretId, clientSecret };
}

export function listProjects(database: RampDatabase): Promise<DatabaseRow[]> {
  return database.asOperator((tx) =>
    tx.rows(
      `SELECT id AS "projectId", organization_id AS "organizationId", name, client_id AS "clientId", token_ttl_seconds AS "tokenTtlSeconds",
         max_token_seconds AS "maxTokenSeconds", page_origins AS "pageOrigins", redirect_origins AS "redirectOrigins",
         wallet_domains AS "walletDomains", amount_tolerance AS "amountTolerance"
       FROM ramp.projects ORDER BY created_at, id`,
    ),
  );
}

/** The id of a project that exists. */
export async function findProject(database: RampDatabase, id: string): Promise<Outcome<ProjectId>> {
  const found =
    isUuid(id) &&
    (await database.asOperator((tx) => tx.row("SELECT FROM ramp.projects WHERE id = $1", [id])));
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
    return succeeded(await database.asOperator((tx) => insertSecret(tx, id)));
  } catch (error) {
    // A trigger allows two valid secrets (database/migrations/0001_schema.sql).
    if ((error as { code?: string }).code === "RW002") return failed((error as Error).message);
    throw error;
  }
}

export function listSecrets(database: RampDatabase, id: ProjectId): Promise<DatabaseRow[]> {
  return database.asOperator((tx) =>
    tx.rows(
      `SELECT id AS "secretId", created_at AS "createdAt", revoked_at AS "revokedAt" FROM ramp.client_secrets
       WHERE project_id = $1 ORDER BY created_at, id`,
      [id],
    ),
  );
}

export async function revokeSecret(
  database: RampDatabase,
  id: ProjectId,
  secretId: string,
): Promise<Outcome<{ secretId: string }>> {
  const revoked =
    isUuid(secretId) &&
    (await database.asOperator((tx) =>
      tx.row(
        "UPDATE ramp.client_secrets SET revoked_at = now() WHERE project_id = $1 AND id = $2 AND revoked_at IS NULL RETURNING id",
        [id, secretId],
      ),
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

export function listKeys(database: RampDatabase): Promise<DatabaseRow[]> {
  return database.asOperator((tx) =>
    tx.rows(
      `SELECT kid, created_at AS "createdAt", retired_at AS "retiredAt", revoked_at AS "revokedAt" FROM ramp.signing_keys ORDER BY created_at, kid`,
    ),
  );
}

/** Revokes all tokens that a customer has now; `POST /v1/customers` issues a new one. */
export async function revokeCustomerTokens(
  database: RampDatabase,
  id: ProjectId,
  customer: string,
): Promise<Outcome<{ customer: string }>> {
  return (await revokeTokens(database, id, customer))
    ? succeeded({ customer })
    : failed(`The project has no customer ${customer}.`);
}
