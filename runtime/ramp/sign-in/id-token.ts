import type { JWTHeaderParameters, JWTPayload } from "jose";

/**
 * Types that the header of an ID token may have (RFC 7519 §5.1). All other kinds of tokens have types of their own (RFC 8725 §3.11):
 * `at+jwt`, `logout+jwt`, `secevent+jwt`, `dpop+jwt` and those that will come.
 */
const HEADER_TYPES: ReadonlySet<string> = new Set(["jwt", "id_token+jwt"]);

/** What a claim that names the kind of a token says about an ID token: `token_use` of Amazon Cognito, `typ` of Keycloak, `tokenName` of ForgeRock. */
const KIND_CLAIMS = ["token_use", "typ", "token_type", "tokenName"] as const;
const ID_KIND = /^(id|id_token|jwt)$/i;
/** `type` is also a name of providers' own claims: only these values are kinds of tokens. */
const OTHER_KIND = /^(access|refresh)/i;

/**
 * Claims that ID tokens do not have: security events and logout tokens (RFC 8417), access tokens (RFC 9068, `scp` and `idtyp` of Microsoft
 * Entra and Okta, `gty` of Auth0), DPoP proofs (RFC 9449) and answers of introspection (RFC 9701).
 */
const OTHER_CLAIMS = ["events", "scope", "scp", "idtyp", "gty", "htm", "htu", "token_introspection"] as const;

/** Whether a token that its issuer signed is an ID token, and no other kind of token for the same audience. */
export function isIdToken({ typ }: Pick<JWTHeaderParameters, "typ">, claims: JWTPayload): boolean {
  const { type } = claims;
  return (
    isHeaderType(typ) &&
    KIND_CLAIMS.every((name) => isIdKind(claims[name])) &&
    !(typeof type === "string" && OTHER_KIND.test(type)) &&
    OTHER_CLAIMS.every((name) => claims[name] === undefined)
  );
}

/** Nothing has checked that it is a text. */
function isHeaderType(typ: unknown): boolean {
  if (typeof typ !== "string") return typ === undefined;
  return HEADER_TYPES.has(typ.toLowerCase().replace(/^application\//, ""));
}

function isIdKind(kind: unknown): boolean {
  return kind === undefined || (typeof kind === "string" && ID_KIND.test(kind));
}
