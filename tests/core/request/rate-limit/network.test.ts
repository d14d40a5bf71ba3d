import { describe, expect, it } from "vitest";
import { networkOf } from "../../../../runtime/core/http/headers.js";

describe("the network that counts as one caller", () => {
  it.each(["203.0.113.7", "127.0.0.1", "0.0.0.0", "255.255.255.255"])("is %s itself", (address) => {
    expect(networkOf(address)).toBe(address);
  });

  it.each([
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
    ["2001:db8:1:2::", "2001:db8:1:2::/64"],
    ["2001:db8:1:2::1", "2001:db8:1:2::/64"],
    ["2001:0DB8:0001:0002:ffff:ffff:ffff:ffff", "2001:db8:1:2::/64"],
    ["2001:0db8:1:2::3", "2001:db8:1:2::/64"],
    ["2001:db8:1:3::1", "2001:db8:1:3::/64"],
    ["2001:db8::1", "2001:db8:0:0::/64"],
    ["2001:db8::2:0:0:1", "2001:db8:0:0::/64"],
    ["2001:db8:0:0:1::", "2001:db8:0:0::/64"],
    ["::1", "0:0:0:0::/64"],
    ["fe80::1%eth0", "fe80:0:0:0::/64"],
    ["fe80::1%wlan-0", "fe80:0:0:0::/64"],
    ["2001:db8::192.0.2.1", "2001:db8:0:0::/64"],
    ["::1:ffff:0:1", "0:0:0:0::/64"],
    ["fe80:0:0:0:1:2:3:4%eth0", "fe80:0:0:0::/64"],
    ["[2001:db8:1:2::9]", "2001:db8:1:2::/64"],
    ["[2001:db8:1:2::9]:443", "2001:db8:1:2::/64"],
  ])("is the /64 of %s: %s", (address, network) => {
    expect(networkOf(address)).toBe(network);
  });

  it.each([
    "::ffff:203.0.113.7",
    "::FFFF:203.0.113.7",
    "::ffff:cb00:7107",
    "0:0:0:0:0:ffff:203.0.113.7",
    "0000:0000:0000:0000:0000:ffff:cb00:7107",
    "203.0.113.7:49152",
    "[::ffff:203.0.113.7]:49152",
  ])("is the IPv4 address that %s is", (address) => {
    expect(networkOf(address)).toBe("203.0.113.7");
  });

  it("is one and the same for text that is no address", () => {
    const numbers = ["203.0.113.256", "203.0.113.07", "1.2.3", "0x7f.1", "1.2.3.4:x"];
    const names = ["x1", "unknown", "a:b", ":", "::::", "[::1", "unknown, or not an address"];
    for (const text of [...numbers, ...names, "x".repeat(16_000), ":".repeat(16_000)])
      expect([text, networkOf(text)]).toEqual([text, "no-address"]);
  });
});
