/** A number with more digits than a double holds, in one form for equal values: it compares by its digits. */
class ExactDigits {
  readonly digits: string;

  constructor(digits: string) {
    this.digits = digits;
  }

  toString(): string {
    return this.digits;
  }

  /** For messages. */
  toJSON(): string {
    return this.digits;
  }
}

/** Every decimal number of so many digits is a double of its own. */
const DOUBLE_DIGITS = 15;

const NUMBER = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** A number as it is written: a double where that has all of its digits. */
function exactly(text: string): number | ExactDigits {
  const digits = text
    .replace(/[eE].*$/, "")
    .replace(/[-.]/g, "")
    .replace(/^0+/, "");
  return digits.length <= DOUBLE_DIGITS ? Number(text) : new ExactDigits(normal(text));
}

/** `-012.50e1` → `-125e0`: the digits without zeros at either end, and their exponent. */
function normal(text: string): string {
  const [, sign = "", whole = "", fraction = "", exponent = "0"] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? [];
  const digits = (whole + fraction).replace(/^0+/, "");
  const kept = digits.replace(/0+$/, "");
  const power = Number(exponent) - fraction.length + (digits.length - kept.length);
  return power === 0 ? sign + kept : `${sign}${kept}e${String(power)}`;
}

/** Parses JSON whose numbers keep all their digits. Node 20 gives no reviver the text of a number. */
export function parseExactly(text: string): unknown {
  // A string, so that no number in it is taken for one; or a number.
  const marked = text.replace(/"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g, (token) =>
    token.startsWith('"') || typeof exactly(token) === "number" ? token : `{${MARK_JSON}:"${token}"}`,
  );
  return JSON.parse(marked, (_, value: unknown) => {
    const number = (value as { readonly [MARK]?: string } | null)?.[MARK];
    return typeof number === "string" ? exactly(number) : value;
  }) as unknown;
}

/** PostgreSQL and ClickHouse have no column of such a name. */
const MARK = "\u0000number";
const MARK_JSON = JSON.stringify(MARK);

/** The value of a YAML document whose numbers keep all their digits. */
export async function parseYamlExactly(text: string): Promise<unknown> {
  const { parseDocument, visit } = await import("yaml");
  const document = parseDocument(text);
  const [error] = document.errors;
  if (error !== undefined) throw error;
  visit(document, {
    Scalar(_, node) {
      if (typeof node.value === "number" && node.source !== undefined && NUMBER.test(node.source))
        node.value = exactly(node.source);
    },
  });
  return document.toJS() as unknown;
}
