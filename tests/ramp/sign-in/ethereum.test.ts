import fc from "fast-check";
import { getAddress, hashMessage as viemHash, recoverMessageAddress, toHex } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { createSiweMessage } from "viem/siwe";
import { describe, expect, it } from "vitest";
import { checksumAddress } from "../../../runtime/ramp/accounts/account-details.js";
import {
  hashMessage,
  recoverAddress,
  parseSignInMessage,
} from "../../../runtime/ramp/sign-in/ethereum-message.js";
import { webUrl } from "../../support/any-text.js";
/** Private keys: any 32 bytes between 1 and the order of the curve. */
const key = fc
  .uint8Array({ minLength: 32, maxLength: 32 })
  .filter((bytes) => bytes[0] !== 255 && bytes.some((byte) => byte !== 0))
  .map((bytes) => toHex(bytes));

describe("against viem", () => {
  it("recovers the same signer of the same message", async () => {
    await fc.assert(
      fc.asyncProperty(key, fc.string({ unit: "grapheme" }), async (privateKey, message) => {
        const account = privateKeyToAccount(privateKey);
        const signature = await account.signMessage({ message });
        expect(toHex(hashMessage(message))).toBe(viemHash(message));
        expect(recoverAddress(hashMessage(message), signature)).toBe(account.address);
        const other = `${message}.`;
        expect(recoverAddress(hashMessage(other), signature)).toBe(
          await recoverMessageAddress({ message: other, signature }),
        );
      }),
      { numRuns: 60, seed: 1 },
    );
  });

  it("accepts the recovery id as 0 and 1 or as 27 and 28, and no other", async () => {
    const account = privateKeyToAccount(`0x${"1".repeat(64)}`);
    const signature = await account.signMessage({ message: "hello" });
    const start = signature.slice(0, -2);
    const low = (parseInt(signature.slice(-2), 16) - 27).toString(16).padStart(2, "0");
    expect(recoverAddress(hashMessage("hello"), `${start}${low}`)).toBe(account.address);
    for (const bad of ["02", "1a", "1d", "ff"])
      expect(recoverAddress(hashMessage("hello"), start + bad)).toBeNull();
    for (const bad of [`0x${"0".repeat(130)}`, `0x${"f".repeat(130)}`, "0x", signature.slice(0, -2), "x"])
      expect(recoverAddress(hashMessage("hello"), bad)).toBeNull();
  });

  it("writes addresses with the same checksum", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 20, maxLength: 20 }), (bytes) => {
        expect(checksumAddress(toHex(bytes))).toBe(getAddress(toHex(bytes)));
      }),
      { numRuns: 200, seed: 1 },
    );
    expect(checksumAddress("0x12")).toBeNull();
  });

  it("reads every message that viem writes", () => {
    const time = fc.date({ min: new Date(0), max: new Date(4e12), noInvalidDate: true });
    fc.assert(
      fc.property(
        fc.record({
          uri: webUrl.filter((text) => !/['"^`{|}]/.test(text)),
          nonce: fc.stringMatching(/^[a-zA-Z0-9]{8,40}$/),
          chainId: fc.integer({ min: 1, max: 1e9 }),
          issuedAt: time,
          expirationTime: fc.option(time, { nil: undefined }),
          notBefore: fc.option(time, { nil: undefined }),
          requestId: fc.option(fc.stringMatching(/^[a-z0-9]{1,20}$/), { nil: undefined }),
          statement: fc.option(fc.stringMatching(/^[A-Za-z0-9 .,!]{1,40}$/), { nil: undefined }),
          resources: fc.option(fc.array(fc.constant("https://example.com/terms"), { maxLength: 3 }), {
            nil: undefined,
          }),
        }),
        (given) => {
          const domain = new URL(given.uri).host;
          const address = getAddress(`0x${"ab".repeat(20)}`);
          const text = createSiweMessage({ ...given, address, domain, version: "1" } as never);
          expect(parseSignInMessage(text), text).toMatchObject({
            address,
            domain,
            chainId: given.chainId,
            nonce: given.nonce,
            issuedAt: given.issuedAt,
            expirationTime: given.expirationTime ?? null,
            notBefore: given.notBefore ?? null,
          });
        },
      ),
      { numRuns: 200, seed: 1 },
    );
  });
});

const GOOD = `app.example.com wants you to sign in with your Ethereum account:
0x52908400098527886E0F7030069857D2E4169EE7

Sign in to the shop.

URI: https://app.example.com/sign-in
Version: 1
Chain ID: 100
Nonce: 0123456789abcdef
Issued At: 2026-01-02T03:04:05Z
Expiration Time: 2026-01-02T04:04:05.123+01:00
Not Before: 2026-01-02T03:04:05Z
Request ID: r-1
Resources:
- https://example.com/a
- ipfs://bafy/b`;

describe("a sign-in message", () => {
  it("is read whole", () => {
    expect(parseSignInMessage(GOOD)).toMatchObject({ domain: "app.example.com", chainId: 100 });
  });

  it.each([
    ["without a statement", ""],
    ["with an empty statement, as siwe 3 writes it", "\n"],
  ])("is read %s", (_name, statement) => {
    const message = GOOD.replace("Sign in to the shop.\n", statement);
    expect(parseSignInMessage(message)).toMatchObject({ domain: "app.example.com", chainId: 100 });
  });

  const bad: readonly (readonly [string, string, string])[] = [
    ["text in front of it", "app.example.com wants", "Hello\napp.example.com wants"],
    ["text behind it", "ipfs://bafy/b", "ipfs://bafy/b\n"],
    ["a second field of a kind", "Chain ID: 100", "Chain ID: 100\nChain ID: 1"],
    ["fields in another order", "Version: 1\nChain ID: 100", "Chain ID: 100\nVersion: 1"],
    ["a field hidden in the statement", "Sign in to the shop.", "Sign in.\nURI: https://evil.example.com"],
    ["an unknown field", "Request ID: r-1", "Request ID: r-1\nScope: all"],
    ["another version", "Version: 1", "Version: 2"],
    ["a chain id with a leading zero", "Chain ID: 100", "Chain ID: 0100"],
    ["a short nonce", "Nonce: 0123456789abcdef", "Nonce: 0123456"],
    ["a nonce with other characters", "Nonce: 0123456789abcdef", "Nonce: 01234567-89abcdef"],
    ["carriage returns", "\nVersion: 1\n", "\r\nVersion: 1\r\n"],
    [
      "an address in lower case",
      "0x52908400098527886E0F7030069857D2E4169EE7",
      "0x52908400098527886e0f7030069857d2e4169ee7",
    ],
    ["a URI of another host", "URI: https://app.example.com", "URI: https://evil.example.com"],
    [
      "a URI with the domain as its user",
      "URI: https://app.example.com/",
      "URI: https://app.example.com@evil.example.com/",
    ],
    ["a URI with another port", "URI: https://app.example.com/", "URI: https://app.example.com:8443/"],
    ["a URI without a host", "URI: https://app.example.com/sign-in", "URI: urn:app.example.com"],
    ["a domain with a path", "app.example.com wants", "app.example.com/x wants"],
    ["a domain with a user", "app.example.com wants", "user@app.example.com wants"],
    ["a scheme that is not the URI's", "app.example.com wants", "http://app.example.com wants"],
    ["a day that does not exist", "2026-01-02T03:04:05Z\nExp", "2026-02-30T03:04:05Z\nExp"],
    ["a time without a zone", "2026-01-02T03:04:05Z\nExp", "2026-01-02T03:04:05\nExp"],
    ["two empty statements", "Sign in to the shop.\n", "\n\n"],
    ["letters outside ASCII", "Sign in to the shop.", "Sign in to the shöp."],
  ];
  it.each(["Issued At", "Expiration Time", "Not Before"])("is refused with 30 February as %s", (field) => {
    const message = GOOD.replace(new RegExp(`${field}: \\d{4}-\\d{2}-\\d{2}`), `${field}: 2026-02-30`);
    expect(parseSignInMessage(message)).toContain(`The message's ${field} does not exist`);
  });

  it.each(bad)("is refused with %s", (_name, from, to) => {
    expect(GOOD).toContain(from);
    expect(parseSignInMessage(GOOD.replace(from, to))).toBeTypeOf("string");
  });
});
