import { createHmac, timingSafeEqual } from "node:crypto";
import { type ProjectId, projectId } from "../database/id.js";
import type { Vault } from "../core/vault.js";
import { readIntent } from "../intents/intent-rows.js";
import { isErased } from "../intents/intent.js";
import type { IntentContext } from "../intents/lease.js";
import { isOrigin } from "../core/json-schema.js";
import type { RampResponse } from "../core/ramp-errors.js";
import { problemPage } from "./layout.js";
import type { PageContext } from "./page-views.js";

interface PageTarget {
  readonly projectId: ProjectId;
  readonly id: string;
}

/** The link outlives its intent's expiry: the money can still be on its way, and the page shows the result. */
const GRACE_MS = 24 * 60 * 60_000;
const LINK_PURPOSE = "page-links";

/** Address of an intent's hosted page. It is signed: its bearer may act for the customer. */
export function pageUrl(publicUrl: string, vault: Vault, { projectId, id }: PageTarget): string {
  const claims = ["onboarding", projectId, id].join("|");
  const payload = Buffer.from(claims).toString("base64url");
  return `${publicUrl}/onboarding/${payload}.${signature(vault.derive(LINK_PURPOSE), payload)}`;
}

function signature(key: Buffer, payload: string): string {
  return createHmac("sha256", key).update(payload).digest("base64url");
}

/** Links that were signed before the master key was rotated stay valid until they expire. */
function isSigned(vault: Vault, payload: string, given: string): boolean {
  return vault.deriveAll(LINK_PURPOSE).some((key) => {
    const [left, right] = [Buffer.from(signature(key, payload)), Buffer.from(given)];
    return left.length === right.length && timingSafeEqual(left, right);
  });
}

/** A page's target and all that it shows. */
export interface OpenedPage extends PageContext {
  readonly token: string;
  readonly pageOrigins: readonly string[];
}

/** What the last part of a page's address names, or the page with its error. */
export async function openLink(ramp: IntentContext, token: string): Promise<OpenedPage | RampResponse> {
  const [payload = "", signed = "", ...rest] = token.split(".");
  if (rest.length > 0 || !isSigned(ramp.vault, payload, signed)) return UNKNOWN;
  const claims = Buffer.from(payload, "base64url").toString().split("|");
  const [, project = "", intentId = ""] = claims;
  const [intent, shown] = await ramp.database.inProject(projectId(project), (tx) =>
    Promise.all([
      readIntent(tx, intentId),
      tx.row<{ projectName: string; origins: string[] }>(
        `SELECT name AS "projectName", page_origins AS origins FROM ramp.projects WHERE id = ramp.current_project()`,
      ),
    ]),
  );
  // The link was an erased customer's.
  if (intent === null || shown === null || isErased(intent)) return UNKNOWN;
  if (intent.expiresAt.getTime() + GRACE_MS <= ramp.now().getTime()) return EXPIRED;
  const { projectName, origins } = shown;
  const { currencies } = ramp;
  const url = pageUrl(ramp.publicUrl, ramp.vault, intent);
  return { token, intent, currencies, url, projectName, pageOrigins: origins.filter(isOrigin) };
}

const UNKNOWN = problemPage(
  404,
  "This link is not valid",
  "It may have been cut off or changed on its way. Please go back to where you got it and open it again.",
);
const EXPIRED = problemPage(
  410,
  "This link has expired",
  "Please go back to where you got it and start again. Nothing more can be done here, and no money should be sent.",
);
