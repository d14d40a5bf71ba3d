/** Above it a float is the nearest of several whole numbers. */
export const MAX_EXACT = "9007199254740992";

/**
 * A condition of SQL under which a float is a decimal of so many digits behind the point: not the nearest float of one, as
 * 0.1 is. Ten has the factor two once, and multiplying by a power of two is exact.
 */
export function isExactFloat(x: string, scale: number, truncate: string): string {
  const scaled = `(${x} * pow(2, ${String(scale)}))`;
  return `abs(${x}) <= ${MAX_EXACT} / pow(10, ${String(scale)}) AND ${truncate}(${scaled}) = ${scaled}`;
}
