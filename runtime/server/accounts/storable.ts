/** JSON escapes the characters that PostgreSQL does not store, and each backslash of a text. */
export const isStorable = (value: unknown): boolean =>
  !/(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])/i.test(JSON.stringify(value));
