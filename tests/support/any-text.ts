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

/** Segments of a path, percent-encoded. */
const segments = fc.array(anyText(8).map(encodeURIComponent), { maxLength: 4 });

/** Paths as `fc.webPath()` has them. */
export const webPath: fc.Arbitrary<string> = segments.map((all) => all.map((each) => `/${each}`).join(""));

/** Addresses with paths, parameters and fragments, as `fc.webUrl()` has them. */
export const webUrl: fc.Arbitrary<string> = fc
  .tuple(
    fc.constantFrom("http", "https"),
    fc.webAuthority(),
    webPath,
    fc.option(segments),
    fc.option(anyText(8).map(encodeURIComponent)),
  )
  .map(([scheme, authority, path, query, fragment]) => {
    const behind = [query && `?${query.join("&")}`, fragment !== null && `#${fragment}`];
    return `${scheme}://${authority}${path}${behind.filter(Boolean).join("")}`;
  });
