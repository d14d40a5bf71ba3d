import type { IncomingMessage } from "node:http";
import { requestAddress } from "../../core/http/request-address.js";
import { originProblem, type OriginSettings } from "../../core/http/origins.js";
import type { Exchange, OAuthResource } from "../../core/handler/exchange.js";
import type { Gateway } from "../../core/handler/gateway.js";
import { httpError, type HttpError } from "../../core/model/errors.js";
import { TIERS } from "../../core/model/tier.js";
import type { Reply } from "../../core/http/send.js";
import { requireAccess } from "../../core/request/authorize.js";
import type { CatalogueEndpoint } from "../../pages/catalogue-body.js";

/** Who may call `/mcp` (runtime/docs/mcp.md). */
export interface McpSettings extends OriginSettings {
  /** Whether a request without key or token gets public rows where tokens are accepted. */
  readonly mcpAnonymous: boolean;
}

/** Before the path of an endpoint: its resource. */
export const ENDPOINT_URI = "routewright://endpoints";

/** Refuses requests of pages that are not allowed to call this server. */
export function refusalOfOrigin(settings: McpSettings, request: IncomingMessage): HttpError | null {
  const problem = originProblem(settings, request);
  if (problem === null) return null;
  return problem === "foreign origin"
    ? httpError("originNotAllowed")
    : httpError("hostNotLocal", { header: problem });
}

const METADATA_PATH = "/.well-known/oauth-protected-resource";

/** Paths of the metadata: of the whole server, and of `/mcp` (RFC 9728 §3.1). */
export const METADATA_PATHS: readonly string[] = [METADATA_PATH, `${METADATA_PATH}/mcp`];

/** The metadata of `/mcp` as an OAuth resource, by which assistants find the issuer (RFC 9728 §2). */
export function protectedResource({ gateway, request }: Exchange, title: string): Reply | HttpError {
  if (gateway.tokens === null) return httpError("notFound");
  const body = {
    resource: `${requestAddress(gateway, request)}/mcp`,
    authorization_servers: [gateway.tokens.issuer],
    scopes_supported: TIERS,
    bearer_methods_supported: ["header"],
    resource_name: title,
  };
  return { status: 200, body: JSON.stringify(body) };
}

/**
 * The OAuth resource `/mcp`: tokens for its public address are accepted too, and a 401 names its metadata. A `Host` header is no
 * proof of an address, so that without `PUBLIC_URL` the audience is that of the API alone.
 */
export function oauthResource(gateway: Gateway, request: IncomingMessage): OAuthResource | undefined {
  if (gateway.tokens === null) return undefined;
  const { origin, prefix } = gateway.publicAddressOf(request);
  return {
    audience: origin === null ? null : `${origin}${prefix}/mcp`,
    metadata: `${requestAddress(gateway, request)}${METADATA_PATH}/mcp`,
    scope: TIERS.join(" "),
  };
}

/**
 * The 403 to a token that asks for a locked endpoint, by which an assistant asks its user for the scope (RFC 6750 §3.1); null
 * where no other scope would help.
 */
export function scopeChallenge(
  { context: { caller }, oauth }: Exchange,
  locked: readonly CatalogueEndpoint[],
  message: unknown,
): Reply | null {
  if (oauth === undefined || caller.key?.isByScope !== true) return null;
  const path = askedPath(message);
  const endpoint = locked.find((each) => each.path === path);
  const refused = endpoint && requireAccess(endpoint.path, endpoint.tier, caller);
  if (refused?.code !== "tierTooLow") return null;
  const challenge = `Bearer error="insufficient_scope", scope="${endpoint?.tier ?? ""}", resource_metadata="${oauth.metadata}"`;
  return {
    status: refused.status,
    body: JSON.stringify({ detail: refused.detail }),
    headers: { "WWW-Authenticate": challenge },
  };
}

/** The endpoint that a call of a tool, or the reading of a resource, is about. */
function askedPath(message: unknown): string | null {
  const { params } = (message ?? {}) as { readonly params?: Readonly<Record<string, unknown>> | null };
  const path = (params?.["arguments"] as { readonly path?: unknown } | null | undefined)?.path;
  if (typeof path === "string") return path;
  const uri = params?.["uri"];
  return typeof uri === "string" && uri.startsWith(ENDPOINT_URI) ? uri.slice(ENDPOINT_URI.length) : null;
}
