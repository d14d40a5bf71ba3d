/** Whether the Gregorian calendar has the day. It repeats after 400 years. */
export function isDayOf(year: number, month: number, day: number): boolean {
  const date = new Date(Date.UTC(2000 + (((year % 400) + 400) % 400), month - 1, day));
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
}

/** A date of a `date` parameter: `YYYY-MM-DD`, years 0001 to 9999. */
export function isDate(text: string): boolean {
  const [, year, month, day] = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text) ?? [];
  return Number(year) > 0 && isDayOf(Number(year), Number(month), Number(day));
}
