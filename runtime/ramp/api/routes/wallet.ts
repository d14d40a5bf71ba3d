import { Type } from "@sinclair/typebox";
import { newNonce, walletToken } from "../../token/wallet.js";
import { json } from "../answer.js";
import { refuse } from "../errors.js";
import { route } from "../route.js";
import { WalletChallengeBody, WalletTokenView } from "../schemas.js";

/** Lifetime of a wallet token when the caller does not say, in seconds (decisions.md §B, Keys and tokens). */
const DEFAULT_TTL_SECONDS = 3_600;

export const getWalletNonce = route("public", {
  method: "GET",
  path: "/v1/auth/wallet/nonce",
  summary: "Get a nonce for a wallet sign-in, as plain text",
  description: "For one sign-in, within ten minutes.",
  answer: { status: 200, schema: Type.String(), description: "The nonce, as text/plain." },
  refusals: [],
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
  answer: { status: 200, schema: WalletTokenView, description: "The token." },
  refusals: ["INVALID_WALLET_SIGNATURE"],
  async handle({ ramp, body: { message, signature, ttlInSeconds } }) {
    const challenge = { message, signature, ttlSeconds: ttlInSeconds ?? DEFAULT_TTL_SECONDS };
    const token = await walletToken(ramp.walletTokens, challenge, ramp.now());
    return token === null ? refuse("INVALID_WALLET_SIGNATURE") : json(200, { token });
  },
});
