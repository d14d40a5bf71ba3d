import { createHmac, timingSafeEqual } from "node:crypto";
import { type ProjectId, projectId } from "../project/project.js";
import type { Vault } from "../secrets/vault.js";

/** The hosted pages of an intent. */
export type PageKind = "onboarding" | "checkout";

export interface PageTarget {
  readonly kind: PageKind;
  readonly projectId: ProjectId;
  readonly intentId: string;
  readonly expiresAt: Date;
}

/** Address of a hosted page. It says what it is for and until when, and is signed: who holds it may act for the customer. */
export function pageUrl(publicUrl: string, vault: Vault, target: PageTarget): string {
  const seconds = Math.floor(target.expiresAt.getTime() / 1000);
  const claims = [target.kind, target.projectId, target.intentId, String(seconds)].join("|");
  const payload = Buffer.from(claims).toString("base64url");
  return `${publicUrl}/${target.kind}/${payload}.${signature(vault, payload)}`;
}

/** What the last part of a page's address stands for; null when it was not signed here, has expired or is another kind's. */
export function readPageToken(vault: Vault, kind: PageKind, token: string, now: Date): PageTarget | null {
  const [payload = "", given = "", ...rest] = token.split(".");
  const expected = Buffer.from(signature(vault, payload));
  const isOurs =
    rest.length === 0 &&
    expected.length === Buffer.byteLength(given) &&
    timingSafeEqual(expected, Buffer.from(given));
  if (!isOurs) return null;
  const [named, project = "", intentId = "", seconds = ""] = Buffer.from(payload, "base64url")
    .toString()
    .split("|");
  const expiresAt = new Date(Number(seconds) * 1000);
  if (named !== kind || expiresAt <= now) return null;
  return { kind, projectId: projectId(project), intentId, expiresAt };
}

function signature(vault: Vault, payload: string): string {
  return createHmac("sha256", vault.derive("page-links")).update(payload).digest("base64url");
}
