import { issuerProblem } from "@routewright/runtime/internal/core/http/issuer-keys.js";
import { isFetchable } from "@routewright/runtime/internal/core/model/store-address.js";
import { failed, type Outcome, succeeded } from "@routewright/runtime/internal/core/model/outcome.js";
import { newId, type ProjectId } from "../database/id.js";
import type { RampDatabase } from "../database/ramp-database.js";

export interface NewIdentityProvider {
  /** As its tokens name it. */
  readonly issuer: string;
  readonly audiences: readonly string[];
  readonly clockSkewSeconds: number;
  /** Where its keys are; null: its discovery document says it. */
  readonly jwksUrl: string | null;
  /** Whether its addresses may be http, as inside a cluster. */
  readonly allowHttp: boolean;
}

type Added = Outcome<{ identityProviderId: string; issuer: string }>;

/** Registers an identity provider whose keys can be read, or changes one that is registered. */
export async function addIdentityProvider(
  database: RampDatabase,
  projectId: ProjectId,
  provider: NewIdentityProvider,
): Promise<Added> {
  const wrong = settingsProblem(provider) ?? (await issuerProblem(provider.issuer, provider));
  return wrong === null ? registerIdentityProvider(database, projectId, provider) : failed(wrong);
}

/** Registers one whatever its keys are, such as before it is up. */
export async function registerIdentityProvider(
  database: RampDatabase,
  projectId: ProjectId,
  provider: NewIdentityProvider,
): Promise<Added> {
  const wrong = settingsProblem(provider);
  if (wrong !== null) return failed(wrong);
  const { issuer, audiences, clockSkewSeconds, jwksUrl, allowHttp } = provider;
  const row = await database.of(projectId).row<{ id: string }>(
    `INSERT INTO ramp.identity_providers (id, issuer, audiences, clock_skew_seconds, jwks_url, allow_http) VALUES ($1, $2, $3, $4, $5, $6)
     ON CONFLICT (project_id, issuer) DO UPDATE SET audiences = excluded.audiences, clock_skew_seconds = excluded.clock_skew_seconds,
       jwks_url = excluded.jwks_url, allow_http = excluded.allow_http
     RETURNING id`,
    [newId(), issuer, audiences, clockSkewSeconds, jwksUrl, allowHttp],
  );
  return succeeded({ identityProviderId: row?.id ?? "", issuer });
}

function settingsProblem({ issuer, audiences, jwksUrl, allowHttp }: NewIdentityProvider): string | null {
  if (audiences.length === 0) return "Name at least one audience.";
  if (issuer === "" || issuer.includes("\0")) return "Name the issuer as its tokens do.";
  if (issuer.endsWith("/v1/auth/wallet"))
    return "Wallet sign-in is no identity provider: register its domains with `ramp project update --wallet-domain`.";
  if (jwksUrl !== null && !isFetchable(jwksUrl, allowHttp)) return notFetchable("--jwks-url", jwksUrl);
  if (jwksUrl !== null || isFetchable(issuer, allowHttp)) return null;
  return URL.canParse(issuer) && /^https?:/i.test(issuer)
    ? notFetchable("The issuer", issuer)
    : "The issuer is no address: say with --jwks-url where its keys are.";
}

function notFetchable(name: string, address: string): string {
  return /^http:/i.test(address)
    ? `${name} is an http:// address of another machine: use https, or allow it with --allow-http, such as inside a cluster.`
    : `${name} is not an https:// address (http:// on this machine).`;
}

/** Accepts no more tokens of an issuer; customers bound to its users stay bound. */
export async function removeIdentityProvider(
  database: RampDatabase,
  projectId: ProjectId,
  issuer: string,
): Promise<Outcome<{ issuer: string }>> {
  const rows = await database.operator.rows(
    "DELETE FROM ramp.identity_providers WHERE project_id = $1 AND issuer = $2 RETURNING id",
    [projectId, issuer],
  );
  return rows.length === 0
    ? failed(`The project has no identity provider ${issuer}.`)
    : succeeded({ issuer });
}
