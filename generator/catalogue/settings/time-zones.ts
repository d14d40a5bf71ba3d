/** Names known to be time zones: a lookup takes longer than the rest of a model. */
const timezones = new Set<string>(["UTC"]);

/** Whether PostgreSQL and JavaScript both know the name: an offset such as `+02:00` has opposite signs in the two. */
export function isTimezone(name: unknown): name is string {
  if (typeof name !== "string" || !/^[A-Za-z]/.test(name)) return false;
  if (timezones.has(name)) return true;
  try {
    new Intl.DateTimeFormat("en", { timeZone: name });
    timezones.add(name);
    return true;
  } catch {
    return false;
  }
}
