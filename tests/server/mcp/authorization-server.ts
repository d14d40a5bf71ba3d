import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import Provider from "oidc-provider";
import { atEnd } from "../../support/at-end.js";
import { listening } from "../../ramp/support/server.js";

/**
 * An authorization server, made with oidc-provider: clients register themselves, its one user signs in at once and consents to
 * the scopes `tier0` and `tier1`. Access tokens are JWTs for the resource that was asked for.
 */
export async function startAuthorizationServer(): Promise<string> {
  let handle: (request: IncomingMessage, response: ServerResponse) => unknown = () => undefined;
  const server = createServer((request, response) => void handle(request, response));
  const issuer = await listening(server);
  const provider = new Provider(issuer, {
    scopes: ["openid", "tier0", "tier1", "tier2", "tier3"],
    claims: { openid: ["sub"] },
    findAccount: (_, sub) => ({ accountId: sub, claims: () => ({ sub }) }),
    features: {
      devInteractions: { enabled: false },
      registration: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_, resource) => ({
          scope: "tier0 tier1 tier2 tier3",
          audience: resource,
          accessTokenFormat: "jwt",
          jwt: { sign: { alg: "RS256" } },
        }),
        useGrantedResource: () => true,
      },
    },
    interactions: { url: (_, { uid }) => `/interaction/${uid}` },
  });
  const callback = provider.callback();
  handle = (request, response) =>
    request.url?.startsWith("/interaction/") === true
      ? consent(provider, request, response)
      : callback(request, response);
  atEnd(() => void server.close());
  return issuer;
}

async function consent(provider: Provider, request: IncomingMessage, response: ServerResponse) {
  const { prompt, params, grantId } = await provider.interactionDetails(request, response);
  if (prompt.name === "login")
    return provider.interactionFinished(request, response, { login: { accountId: "ann" } });
  const grant =
    (grantId === undefined ? undefined : await provider.Grant.find(grantId)) ??
    new provider.Grant({ accountId: "ann", clientId: String(params["client_id"]) });
  // Clients register with the scopes, so that the server takes them for its own as well.
  grant.addOIDCScope("openid tier0 tier1 tier2 tier3");
  const resource = String(params["resource"]);
  grant.addResourceScope(resource, "tier0 tier1");
  grant.rejectResourceScope(resource, "tier2 tier3");
  const result = { consent: { grantId: await grant.save() } };
  return provider.interactionFinished(request, response, result, { mergeWithLastSubmission: true });
}
