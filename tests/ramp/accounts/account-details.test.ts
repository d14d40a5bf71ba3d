import { expect, it } from "vitest";
import { isBitcoinAddress } from "../../../runtime/ramp/accounts/account-details.js";

// From the test vectors of BIP 173 and BIP 350, and two well-known Base58Check addresses.
it.each([
  "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa",
  "3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy",
  "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4",
  "BC1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KV8F3T4",
  "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0",
])("takes the address %s", (address) => {
  expect(isBitcoinAddress(address)).toBe(true);
});

it.each([
  "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNb",
  "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t5",
  // Version 1 with the checksum of version 0, version 0 with that of version 1, mixed letter case, another network.
  "bc1p38j9r5y49hruaue7wxjce0updqjuyyx0kh56v8s25huc6995vvpql3jow4",
  "bc1q0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqh2y7hd",
  "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8F3t4",
  "tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx",
  "",
])("refuses the address '%s'", (address) => {
  expect(isBitcoinAddress(address)).toBe(false);
});
