/** Expected form of `RAMP_SECRETS_KEY`, for messages. */
export const SECRETS_KEY_EXPECTED = "32 bytes as 64 hexadecimal digits or as base64";

/** The bytes of `RAMP_SECRETS_KEY`; null when the text is invalid. */
export function secretsKey(text: string): Buffer | null {
  const bytes = /^[0-9a-f]{64}$/i.test(text) ? Buffer.from(text, "hex") : fromBase64(text);
  return bytes?.length === 32 ? bytes : null;
}

function fromBase64(text: string): Buffer | null {
  return /^[A-Za-z0-9+/_-]{43}=?$/.test(text) ? Buffer.from(text, "base64") : null;
}
