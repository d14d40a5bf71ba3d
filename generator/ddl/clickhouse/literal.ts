/** A string of ClickHouse's SQL. */
export function clickhouseLiteral(text: string): string {
  return `'${text.replace(/[\\']/g, "\\$&").replaceAll("\n", "\\n").replaceAll("\0", "\\0")}'`;
}
