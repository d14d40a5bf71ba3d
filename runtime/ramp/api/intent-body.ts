import type { Customer } from "../tokens/customer-token.js";
import { type ExternalAccount, readExternalAccounts } from "../accounts/external-accounts.js";
import type { RampContext } from "../context.js";
import type { AccountSide } from "../intents/intent.js";
import { rampError, type RampError } from "../ramp-errors.js";
import type { CreateIntentBody } from "./request-schemas.js";
import type { ProjectId } from "../database/id.js";

/** Both sides of an intent with all their details. */
export interface AccountSides {
  readonly src: AccountSide;
  readonly dest: AccountSide;
}

/** Resolves `externalAccountId`: the account's details, and what the request adds to them. */
export async function readSides(
  ramp: RampContext,
  { projectId, customerId }: Customer,
  { src, dest }: Pick<CreateIntentBody, "src" | "dest">,
): Promise<AccountSides | RampError> {
  const ids = [src, dest].flatMap(({ externalAccountId: id }) => (id === undefined ? [] : [id]));
  const accounts =
    ids.length === 0
      ? []
      : await ramp.database.inProject(projectId, (tx) => readExternalAccounts(tx, customerId, ids));
  const [from, to] = [readSide("src", src, accounts), readSide("dest", dest, accounts)];
  const wrong = [from, to].filter((side) => "path" in side);
  if ("path" in from || "path" in to) return rampError("INVALID_ACCOUNT_DETAILS", { details: wrong });
  return { src: from, dest: to };
}

function readSide(
  name: "src" | "dest",
  { currencyCode, details, externalAccountId }: CreateIntentBody["src"],
  accounts: readonly ExternalAccount[],
): AccountSide | { readonly path: string; readonly message: string } {
  if (externalAccountId === undefined)
    return details === undefined
      ? { path: `/${name}/details`, message: "is required without externalAccountId" }
      : { currencyCode, details };
  const account = accounts.find(({ id }) => id === externalAccountId.toLowerCase());
  const path = `/${name}/externalAccountId`;
  if (!account) return { path, message: "names no external account of the customer" };
  if (account.currencyCode.toUpperCase() !== currencyCode.toUpperCase())
    return { path, message: `is an account in ${account.currencyCode}` };
  const { metadata } = account;
  const other = Object.entries(details ?? {}).find(
    ([field, value]) => field in metadata && metadata[field] !== value,
  );
  if (other) return { path: `/${name}/details/${other[0]}`, message: "differs from the external account" };
  return { currencyCode, details: { ...metadata, ...details } };
}

const FIELDS = ["onboardingRedirectUrl", "checkoutRedirectUrl"] as const;

/**
 * Refuses redirect URLs outside the origins that the project registered; a project that registered none accepts any
 * (runtime/ramp/README.md, Intents).
 */
export async function checkRedirectOrigins(
  ramp: RampContext,
  projectId: ProjectId,
  body: Pick<CreateIntentBody, (typeof FIELDS)[number]>,
): Promise<RampError | null> {
  const given = FIELDS.flatMap((field) => (body[field] == null ? [] : [{ field, url: body[field] }]));
  if (given.length === 0) return null;
  const row = await ramp.database.inProject(projectId, (tx) =>
    tx.row<{ redirect_origins: readonly string[] }>(
      "SELECT redirect_origins FROM ramp.projects WHERE id = ramp.current_project()",
    ),
  );
  const origins = row?.redirect_origins ?? [];
  if (origins.length === 0) return null;
  const details = given
    .filter(({ url }) => !origins.includes(new URL(url).origin))
    .map(({ field }) => ({ path: `/${field}`, message: "is not at an origin that the project registered" }));
  return details.length === 0 ? null : rampError("INVALID_REQUEST", { details });
}
