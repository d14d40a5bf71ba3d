import {
  flag,
  openRecord,
  record,
  text,
  textOf,
  wholeNumber,
} from "@routewright/runtime/internal/core/model/schema.js";
import { createHash } from "node:crypto";
import { failpoint } from "../../core/failpoints.js";
import { readIntent } from "../../intents/intent-rows.js";
import { requestAccountPoll } from "../../intents/deposit-account.js";
import { requestPoll } from "../../intents/lease.js";
import { isUuid, projectId } from "../../database/id.js";
import type { ProjectTransaction } from "../../database/transaction.js";
import { isRampError, jsonResponse, rampError } from "../../core/ramp-errors.js";
import { route } from "../route.js";
import { Callback } from "../../providers/protocol.js";
import { newNonce, walletToken } from "../../sign-in/wallet-token.js";

const WalletChallengeBody = record(
  {
    message: textOf({ minLength: 1, maxLength: 4_096, description: "EIP-4361 message." }),
    signature: textOf({
      pattern: "^0x([0-9a-fA-F]{2}){1,4096}$",
      description: "65 bytes of an account's key, or what a contract wallet takes as its signature.",
    }),
  },
  {
    ttlInSeconds: { ...wholeNumber(60, 86_400), default: 3_600 },
    clientId: textOf({
      maxLength: 100,
      pattern: "^[!-~]+$",
      description: "Client id of the project; needed for contract wallets (ERC-1271) only.",
    }),
  },
);
const WalletTokenView = openRecord({ token: text });

export const receiveCallback = route("provider", {
  method: "POST",
  path: "/v1/provider-callbacks/{projectId}/{connectionId}",
  summary: "For providers: report that an order has changed",
  description:
    "Signed like Standard Webhooks with the credential's secret. The ramp looks the order up: order and number of callbacks do not matter. Of a deposit account, `type` is `execution.updated` and `onboardingId` the account's id.",
  rawBody: Callback,
  response: { status: 200, schema: openRecord({ received: flag }), description: "Received." },
  errors: ["INVALID_SIGNATURE"],
  async handle({ ramp, parameters, headers, text }) {
    await failpoint("callback.received");
    const { projectId: project = "", connectionId = "" } = parameters;
    if (!isUuid(project) || !isUuid(connectionId)) return rampError("INVALID_SIGNATURE");
    const id = projectId(project.toLowerCase());
    const versions = await ramp.providers.versions(id, connectionId.toLowerCase());
    const signature = {
      "webhook-id": headers["webhook-id"] ?? "",
      "webhook-timestamp": headers["webhook-timestamp"] ?? "",
      "webhook-signature": headers["webhook-signature"] ?? "",
    };
    const verified = versions.flatMap(({ version, provider }) => {
      const callback = provider.verifyCallback(signature, text);
      return callback ? [{ version, callback }] : [];
    });
    const [first] = verified;
    if (!first) return rampError("INVALID_SIGNATURE");
    // Only its sender learns what is wrong with it.
    if (!("onboardingId" in first.callback))
      return rampError("INVALID_REQUEST", { details: first.callback.slice(0, 20) });
    const about = { intentId: first.callback.onboardingId, connectionId: connectionId.toLowerCase() };
    const { "webhook-id": callbackId, "webhook-timestamp": sentAt } = signature;
    const found = await ramp.database.inProject(id, async (tx) => {
      if (!(await isNewCallback(tx, about.connectionId, `${callbackId}.${sentAt}.${text}`))) return "copy";
      const accepted = verified.map(({ version }) => version);
      if (await requestPoll(tx, about.intentId, about.connectionId, accepted)) return "planned";
      if (await requestAccountPoll(tx, about.intentId, about.connectionId, accepted)) return "planned";
      return (await readIntent(tx, about.intentId)) === null ? "unknown" : "ended";
    });
    if (found === "planned") ramp.signals.emit("due");
    // After a restore the provider knows more than the database.
    if (found === "unknown")
      ramp.log.warn(
        { intent: about.intentId, connection: about.connectionId },
        "callback about an unknown intent",
      );
    await failpoint("callback.recorded");
    return jsonResponse(200, { received: true });
  },
});

/** False for a copy of a callback: its signature is accepted for five minutes, and each copy would cause a look-up. */
async function isNewCallback(tx: ProjectTransaction, connectionId: string, signed: string): Promise<boolean> {
  const recorded = await tx.row(
    `INSERT INTO ramp.provider_callbacks (connection_id, digest) VALUES ($1, $2)
     ON CONFLICT DO NOTHING RETURNING connection_id`,
    [connectionId, createHash("sha256").update(signed).digest()],
  );
  return recorded !== null;
}

/** Lifetime of a wallet token unless the caller names one, in seconds (runtime/ramp/docs/customers.md, Wallet sign-in). */
const DEFAULT_TTL_SECONDS = 3_600;

export const getWalletNonce = route("public", {
  method: "GET",
  path: "/v1/auth/wallet/nonce",
  summary: "Get a nonce for a wallet sign-in, as plain text",
  description: "For one sign-in, within ten minutes.",
  response: { status: 200, schema: text, description: "The nonce, as text/plain." },
  errors: [],
  async handle({ ramp }) {
    const nonce = await newNonce(ramp.database);
    return { status: 200, body: nonce, headers: { "Content-Type": "text/plain; charset=utf-8" } };
  },
});

export const createWalletToken = route("public", {
  method: "POST",
  path: "/v1/auth/wallet/challenge",
  summary: "Exchange a signed EIP-4361 message for a token that is accepted as subject_token",
  body: WalletChallengeBody,
  response: { status: 200, schema: WalletTokenView, description: "The token." },
  errors: ["INVALID_WALLET_SIGNATURE"],
  async handle({ ramp, body }) {
    const { message, signature, ttlInSeconds: ttlSeconds = DEFAULT_TTL_SECONDS, clientId = null } = body;
    const token = await walletToken(ramp.walletTokens, { message, signature, ttlSeconds, clientId });
    return isRampError(token) ? token : jsonResponse(200, { token });
  },
});
