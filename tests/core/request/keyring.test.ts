import { describe, expect, it } from "vitest";
import { hasValidChecksum, parseKeyring, readKeyring } from "../../../runtime/core/request/keyring.js";

function read(json: unknown): ReturnType<typeof readKeyring> {
  return readKeyring(json, "keys.json");
}

describe("a key ring", () => {
  it("does not hold the keys themselves", async () => {
    const { inspect } = await import("node:util");
    const reading = read({ sk_live_confidential: "tier1" });
    expect(inspect(reading, { depth: null, showHidden: true })).not.toContain("sk_live_confidential");
  });

  it.each([null, undefined, [], "sk_live_x", 1])("is an object and not %j", (json) => {
    expect(read(json)).toEqual({
      ok: false,
      problems: ['keys.json must hold a JSON object: {"sk_live_…": {"user", "tier", "org"}}.'],
    });
  });

  it("reports every invalid entry, without the keys", () => {
    const reading = read({
      sk_live_good: "tier1",
      sk_test_prefix: "tier1",
      sk_live_: "tier1",
      "sha256:abc": "tier1",
      sk_live_tier: "tier4",
      sk_live_none: { user: "x" },
      sk_live_null: null,
      sk_live_case: "Tier1",
      sk_live_proto: "__proto__",
    });
    const begins = "a key begins with sk_live_, or is sha256: and 64 hex digits.";
    const tier = "its tier must be one of tier0, tier1, tier2, tier3.";
    expect(reading).toEqual({
      ok: false,
      problems: [
        `keys.json, entry 2: ${begins}`,
        `keys.json, entry 3: ${begins}`,
        `keys.json, entry 4: ${begins}`,
        `keys.json, entry 5: ${tier}`,
        `keys.json, entry 6: ${tier}`,
        `keys.json, entry 7: ${tier}`,
        `keys.json, entry 8: ${tier}`,
        `keys.json, entry 9: ${tier}`,
      ],
    });
  });

  it.each([
    ["2027-01-31", "2027-02-01T00:00:00.000Z"],
    ["2027-01-31T12:00:00+02:00", "2027-01-31T10:00:00.000Z"],
    ["2027-01-31t12:00:00.5z", "2027-01-31T12:00:00.500Z"],
  ])("reads when a key expires: %s", (expires, at) => {
    const reading = read({ sk_live_a: { tier: "tier1", expires } });
    expect(reading.ok && reading.value.find("sk_live_a")?.expiresAt).toBe(Date.parse(at));
  });
});

describe("a key with a checksum", () => {
  // Of CRC32 alone: another implementation gives the same (zlib.crc32 of Python, and base62 with 0-9A-Za-z).
  const KEY = `sk_live_rw_${"A".repeat(43)}0EWebt`;

  it("is known by it, whatever else it is", () => {
    const reading = read({ [KEY]: "tier1" });
    expect(reading.ok && reading.value.find(KEY)?.tier).toBe("tier1");
  });

  it("is refused without it, and in a file reported", () => {
    const mistyped = KEY.replace("AAAA", "AAAB");
    expect(read({ [mistyped]: "tier1" })).toEqual({
      ok: false,
      problems: ["keys.json, entry 1: the key's checksum is wrong. Copy the whole key again."],
    });
    expect(hasValidChecksum(mistyped)).toBe(false);
    expect(hasValidChecksum(KEY)).toBe(true);
  });

  it.each([
    "sk_live_x",
    `sk_live_rw_${"A".repeat(40)}`,
    `sk_live_${"A".repeat(43)}`,
    `sk_live_rw_${"A".repeat(60)}`,
  ])("is not a key of another form: %s", (key) => {
    const reading = read({ [key]: "tier1" });
    expect(reading.ok && reading.value.find(key)?.tier).toBe("tier1");
  });
});

describe("the text of a key file", () => {
  it.each([
    [
      '{"sk_live_a": "tier1", "sk_live_b": "tier1", "sk_live_a": "tier3"}',
      "entries 1 and 3: the same key twice. Keep one of them.",
    ],
    [
      String.raw`{"sk_live_a": "tier1", "sk_live_\u0061": "tier3"}`,
      "entries 1 and 2: the same key twice. Keep one of them.",
    ],
    ['{"sk_live_a": {"tier": "tier1", "tier": "tier3"}}', "entry 1: a field twice. Keep one of them."],
    [
      String.raw`{"sk_live_0": "tier1", "sk_live_a": {"tier": "tier1", "t\u0069er": "tier3"}}`,
      "entry 2: a field twice. Keep one of them.",
    ],
    [
      '{"sk_live_a": {"tier": "tier1", "revoked": true}}',
      'entry 1: unknown field "revoked". Fields are tier, user, org, expires, allowed, created; to revoke a key, remove its entry.',
    ],
    [
      '{"sk_live_a": {"tier": "tier1", "sk_live_b": true}}',
      "entry 1: an unknown field. Fields are tier, user, org, expires, allowed, created; to revoke a key, remove its entry.",
    ],
    ['{"sk_live_a": {"tier": "tier1", "user": ["ann"]}}', "entry 1: its user must be a string."],
    [
      '{"sk_live_a": {"tier": "tier1", "org": 7}}',
      "entry 1: its org must be a string without U+0000 and lone surrogates.",
    ],
    [
      String.raw`{"sk_live_a": {"tier": "tier1", "org": "a\u0000"}}`,
      "entry 1: its org must be a string without U+0000 and lone surrogates.",
    ],
    ...["soon", "2027-02-30", "2027-01-31T00:00:00", "2027-01-31T25:00:00Z", 1_800_000_000, ""].map(
      (expires) => [
        JSON.stringify({ sk_live_a: { tier: "tier1", expires } }),
        "entry 1: its expires must be a date such as 2027-01-31, or an RFC 3339 date-time.",
      ],
    ),
    ...[[], "shop", [""], [7], ["/v2/shop"], ["v1/shop"], ["/v1/"], ["shop "]].map((allowed) => [
      JSON.stringify({ sk_live_a: { tier: "tier1", allowed } }),
      "entry 1: its allowed must be a list of categories and paths, such as shop or /v1/shop/orders.",
    ]),
    [
      '{"sk_live_a": {"tier": "tier2", "org": "*"}}',
      'entry 1: its org may be "*" (all organizations) only with tier3.',
    ],
  ])("is refused for what JSON.parse or a reader would drop: %s", (text, problem) => {
    expect(parseKeyring(text, "keys.json")).toEqual({ ok: false, problems: [`keys.json, ${problem}`] });
  });

  it("may hold braces, colons and quotes in its strings", () => {
    const text = String.raw`{"sk_live_a": {"tier": "tier1", "user": "{\"a\":1}", "org": "a: b"}}`;
    expect(parseKeyring(text, "keys.json")).toMatchObject({ ok: true });
  });
});
