import fc from "fast-check";

/** Code points of surrogates, which are no characters, and how many they are. */
const [SURROGATES, BEHIND] = [0xd800, 0xe000];
const COUNT = BEHIND - SURROGATES;

/**
 * Any code point: the values of fast-check's unit `binary`, in its order. That one, and `webUrl` and `webPath` with it, fills a
 * map of all of them, which takes each process a second of a processor and 100 MB.
 */
const codePoint = fc
  .integer({ min: 0, max: 0x10ffff - COUNT })
  .map((i) => String.fromCodePoint(i < SURROGATES ? i : i + COUNT), indexOf);

/** For fast-check, which asks whether a value is one of them: the index of a code point. */
function indexOf(text: unknown): number {
  const point = typeof text === "string" ? text.codePointAt(0) : undefined;
  const isOne =
    point !== undefined && (point < SURROGATES || point >= BEHIND) && text === String.fromCodePoint(point);
  if (!isOne) throw new Error("It is not one code point.");
  return point < SURROGATES ? point : point - COUNT;
}

/** Any text of whole code points, also names such as `__proto__`. */
export const anyText = (maxLength?: number): fc.Arbitrary<string> =>
  fc.string({ unit: codePoint, ...(maxLength !== undefined && { maxLength }) });

const ALPHANUMERIC = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

/** What RFC 3986 lets stand unescaped in a segment of a path. */
const IN_SEGMENT = `${ALPHANUMERIC}-._~!$&'()*+,;=:@`;

/** Text of an address: mostly these characters, and of all others some, percent-encoded. */
const addressText = (unescaped: string): fc.Arbitrary<string> =>
  fc.string({
    unit: fc.oneof(
      { weight: 10, arbitrary: fc.constantFrom(...Array.from(unescaped)) },
      { weight: 1, arbitrary: codePoint.map(encodeURIComponent) },
    ),
  });

/** Paths with the characters of `fc.webPath()`. */
export const webPath: fc.Arbitrary<string> = fc
  .array(addressText(IN_SEGMENT), { maxLength: 4 })
  .map((all) => all.map((each) => `/${each}`).join(""));

const queryOrFragment = addressText(`${IN_SEGMENT}/?`);

/** Addresses with paths, parameters and fragments, of the characters of `fc.webUrl()`. */
export const webUrl: fc.Arbitrary<string> = fc
  .tuple(
    fc.constantFrom("http", "https"),
    fc.webAuthority(),
    webPath,
    fc.option(queryOrFragment),
    fc.option(queryOrFragment),
  )
  .map(([scheme, authority, path, query, fragment]) => {
    const behind = [query !== null && `?${query}`, fragment !== null && `#${fragment}`];
    return `${scheme}://${authority}${path}${behind.filter(Boolean).join("")}`;
  });
