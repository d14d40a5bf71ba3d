import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import Provider from "oidc-provider";
import { atEnd } from "../../support/at-end.js";
import { listening } from "../../ramp/support/server.js";

/**
 * An OpenID Connect issuer, made with oidc-provider, with a page that asks for a name. Who begins with `un` has an address that is not
 * verified; who has no `@` has none. Nobody is asked for consent.
 */
export async function startIssuer(redirectUris: readonly string[]) {
  let handle: (request: IncomingMessage, response: ServerResponse) => unknown = () => undefined;
  const server = createServer((request, response) => void handle(request, response));
  const issuer = await listening(server);
  const provider = new Provider(issuer, {
    clients: [{ client_id: "account", client_secret: SECRET, redirect_uris: [...redirectUris] }],
    claims: { openid: ["sub"], profile: ["name"], email: ["email", "email_verified"] },
    features: { devInteractions: { enabled: false } },
    findAccount: (_, sub) => ({ accountId: sub, claims: () => claimsOf(sub) }),
    interactions: { url: (_, { uid }) => `/interaction/${uid}` },
    loadExistingGrant: async ({ oidc: { client, session } }) => {
      const grant = new provider.Grant({
        ...(client && { clientId: client.clientId }),
        ...(session?.accountId !== undefined && { accountId: session.accountId }),
      });
      grant.addOIDCScope("openid profile email");
      await grant.save();
      return grant;
    },
  });
  const callback = provider.callback();
  handle = (request, response) =>
    request.url?.startsWith("/interaction/") === true
      ? interact(provider, request, response)
      : callback(request, response);
  atEnd(() => void server.close());
  return issuer;
}

export const SECRET = "a-secret-of-the-client";

function claimsOf(sub: string) {
  const mail = sub.includes("@") && { email: sub, email_verified: !sub.startsWith("un") };
  return { sub, name: sub.split("@")[0] ?? sub, ...mail };
}

async function interact(
  provider: Provider,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (request.method === "GET") {
    response.setHeader("content-type", "text/html");
    response.end(
      '<!doctype html><html lang="en"><title>Issuer</title><form method="post"><label>Name <input name="login" autofocus></label><button>Sign in</button></form></html>',
    );
    return;
  }
  let text = "";
  for await (const chunk of request) text += String(chunk);
  const accountId = new URLSearchParams(text).get("login") ?? "";
  await provider.interactionFinished(request, response, { login: { accountId } });
}
