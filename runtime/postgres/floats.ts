/** Floats from their binary form: their text depends on the session's `extra_float_digits`. */

/** As responses write it, like ClickHouse: `1e-7`, and all digits up to 1e20. */
export function floatText(number: number): string {
  if (number > -1e21 && number < 1e21) return Object.is(number, -0) ? "-0" : String(number);
  return String(number).replace("e+", "e");
}

/** The number of the shortest decimal that reads back as this float of 32 bits. */
export function singleOf(number: number): number {
  return Number.isFinite(number) && number !== 0 ? Number(shortestSingle(number)) : number;
}

/** As PostgreSQL prints it with `extra_float_digits = 1`. */
export function postgresFloat(number: number, isSingle: boolean): string {
  if (!Number.isFinite(number)) return String(number);
  const [mantissa = "", exponent = ""] = (isSingle ? shortestSingle(number) : shortestDouble(number)).split(
    "e",
  );
  const sign = Object.is(number, -0) || number < 0 ? "-" : "";
  const digits = mantissa.replace(/[-.]/g, "").replace(/(?!^)0+$/, "");
  const power = Number(exponent);
  if (power < -4 || power >= (isSingle ? 6 : 15)) {
    const fraction = digits.length > 1 ? `.${digits.slice(1)}` : "";
    return `${sign}${digits.slice(0, 1)}${fraction}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
  }
  if (power < 0) return `${sign}0.${"0".repeat(-power - 1)}${digits}`;
  const whole = digits.slice(0, power + 1).padEnd(power + 1, "0");
  return sign + whole + (digits.length > power + 1 ? `.${digits.slice(power + 1)}` : "");
}

/** Digits that decimals need at most to tell all floats apart. */
const MOST_DIGITS = { single: 9, double: 17 };

/** No two decimals of so few digits are the same float of 32 bits, unless it is below `SMALLEST_NORMAL`. */
const SURE_DIGITS = 6;
const SMALLEST_NORMAL = 2 ** -126;

function shortestSingle(number: number): string {
  for (
    let count = Math.abs(number) < SMALLEST_NORMAL ? 1 : SURE_DIGITS;
    count < MOST_DIGITS.single;
    count++
  ) {
    const text = number.toExponential(count - 1);
    const last = Number(text.split("e")[0]?.at(-1));
    // Of two that are equally near PostgreSQL takes the even one, JavaScript the larger one.
    const longer = number.toExponential(count);
    const isOddTie = last % 2 === 1 && /5e/.test(longer) && Number(longer) === number;
    const even = isOddTie ? text.replace(/.(?=e)/, String(last - 1)) : text;
    if (isSingle(Number(even), number)) return even;
    if (isSingle(Number(text), number)) return text;
    // The nearest decimal of a power of two may be too far below it, where floats are denser, and the next one be near enough.
    const [mantissa = "", exponent = ""] = text.split("e");
    const next = `${String(Number(mantissa.replace(".", "")) + Math.sign(number))}e${String(Number(exponent) - count + 1)}`;
    if (isSingle(Number(next), number)) return Number(next).toExponential(count - 1);
  }
  return number.toExponential(MOST_DIGITS.single - 1);
}

/** Whether a decimal reads as the float. PostgreSQL prints none that lies exactly between two floats. */
function isSingle(decimal: number, number: number): boolean {
  if (Math.fround(decimal) !== number) return false;
  const mirrored = 2 * decimal - number;
  return decimal === number || Math.fround(mirrored) !== mirrored;
}

/** JavaScript's shortest decimal, unless it lies exactly between two floats: only decimals of 2^53 and more do. */
function shortestDouble(number: number): string {
  let text = number.toExponential();
  if (Math.abs(number) < 2 ** 53) return text;
  for (let count = 1; count <= MOST_DIGITS.double; count++) {
    if (Number(text) === number && !isBetween(text, number)) return text;
    text = number.toExponential(count);
  }
  return text;
}

function isBetween(text: string, number: number): boolean {
  const [mantissa = "", exponent = ""] = text.split("e");
  const [whole = "", fraction = ""] = mantissa.split(".");
  const decimal = BigInt((whole + fraction).padEnd(whole.length + Number(exponent), "0"));
  const mirrored = 2n * decimal - BigInt(number);
  return mirrored !== BigInt(number) && BigInt(Number(mirrored)) === mirrored;
}
