import { type PageKind } from "./sandbox-provider.js";

/** The pages of the sandbox's providers: what a card form, a bank's sign-in or an identity check is to a real one. */

interface SandboxPage {
  readonly name: string;
  readonly kind: PageKind;
  /** What the customer has decided; null: nothing yet. */
  readonly decision: string | null;
}

const CHOICES: Readonly<Record<PageKind, readonly (readonly [decision: string, label: string])[]>> = {
  onboarding: [
    ["approve", "Approve the identity"],
    ["reject", "Reject the identity"],
    ["more", "Ask for more"],
  ],
  payment: [
    ["approve", "Pay"],
    ["reject", "Do not pay"],
  ],
};

const TITLES: Readonly<Record<PageKind, string>> = { onboarding: "Identity check", payment: "Payment" };

/** It holds no text of a request. */
export function sandboxPage({ name, kind, decision }: SandboxPage): string {
  const buttons = CHOICES[kind].map(
    ([value, label]) => `<p><button name="decision" value="${value}">${label}</button></p>`,
  );
  const content =
    decision === null ? `<form method="post">${buttons.join("")}</form>` : "<p>You can close this page.</p>";
  const title = `${TITLES[kind]} of ${name}`;
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${title}</title><link rel="icon" href="data:,"></head><body><main><h1>${title}</h1>${content}</main></body></html>`;
}

/** Where the customer goes on: only to the ramp, which the order's callback address names. Null: nowhere. */
export function returnAddress(returnUrl: string, callbackUrl: string): string | null {
  const isOwn = URL.canParse(returnUrl) && new URL(returnUrl).origin === new URL(callbackUrl).origin;
  return isOwn ? returnUrl : null;
}
