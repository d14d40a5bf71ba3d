/**
 * A date or time of any year. A year outside 0001 to 9999 has the expanded form of ISO 8601, which JavaScript parses: a sign
 * and at least six digits, `-000043` for 44 BC. Infinite times are null.
 */
export function timeOf(value: string): string | null {
  const [, digits = "", rest = "", time, era] =
    /^(\d{4,})(-\d\d-\d\d)(?: ([\d:.]+)(?:\+00)?)?( BC)?$/.exec(value) ?? [];
  if (digits === "") return null;
  const year = era === undefined ? Number(digits) : 1 - Number(digits);
  return `${yearOf(year)}${rest}${time === undefined ? "" : `T${time}Z`}`;
}

function yearOf(year: number): string {
  if (year >= 0 && year <= 9999) return String(year).padStart(4, "0");
  return (year < 0 ? "-" : "+") + String(Math.abs(year)).padStart(6, "0");
}
