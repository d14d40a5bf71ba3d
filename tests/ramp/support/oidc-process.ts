/**
 * An identity provider in a process of its own, made with oidc-provider. Prints its issuer first; with `OIDC_ISSUERS` so many, which have keys of their own. Keys are turned by
 * `POST /rotate`; `POST /token` gives an ID token for the claims in the body, signed as the provider signs its own; `?typ=` names the
 * type of another token in its header.
 */
import { exportJWK, generateKeyPair, importJWK, type JWK, SignJWT } from "jose";
import { createServer, type IncomingMessage } from "node:http";
import Provider from "oidc-provider";
import { listening, serveTest } from "./server.js";

const alg = process.env["OIDC_ALG"] ?? "RS256";
async function body(request: IncomingMessage): Promise<Record<string, unknown>> {
  let text = "";
  for await (const chunk of request) text += String(chunk);
  return text === "" ? {} : (JSON.parse(text) as Record<string, unknown>);
}

async function startIssuer(): Promise<string> {
  let serial = 0;
  let signing: JWK = {};
  let published: JWK[] = [];
  let keySetRequests = 0;
  /** Of the published keys. */
  let answer: ReturnType<Provider["callback"]> | null = null;
  const rotate = async (): Promise<void> => {
    const { privateKey } = await generateKeyPair(alg, { extractable: true });
    signing = { ...(await exportJWK(privateKey)), kid: `key-${String(++serial)}`, alg, use: "sig" };
    published = [signing, ...published].slice(0, 2);
    answer = null;
  };
  await rotate();
  const server = createServer((request, response) => {
    void (async () => {
      if (request.url === "/rotate") return rotate().then(() => response.end());
      if (request.url === "/requests") return response.end(String(keySetRequests));
      if (request.url?.startsWith("/token")) {
        const claims = await body(request);
        const typ = new URL(request.url, issuer).searchParams.get("typ");
        const token = await new SignJWT(claims)
          .setProtectedHeader({ alg, kid: signing.kid ?? "", ...(typ !== null && { typ }) })
          .sign(await importJWK(signing, alg));
        return response.end(token);
      }
      if (request.url === "/jwks") keySetRequests++;
      // The provider's own pages: discovery and key set, as any relying party would get them.
      answer ??= new Provider(issuer, { jwks: { keys: published }, clients: [] }).callback();
      return answer(request, response);
    })();
  });
  const issuer = await listening(server);
  return issuer;
}

const count = Number(process.env["OIDC_ISSUERS"] ?? 1);
serveTest((await Promise.all(Array.from({ length: count }, startIssuer))).join(" "));
