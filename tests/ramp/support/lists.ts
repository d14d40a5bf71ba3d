/** What lists of intents and accounts are compared with. */

interface Listed {
  readonly id: string;
  readonly createdAt: string;
}

/**
 * Ids by creation, newest first, as the API says it: a server reads the database's clock again now and then, and its own may go back by
 * some milliseconds then.
 */
export function newestFirst(listed: readonly Listed[]): readonly string[] {
  const place = ({ createdAt, id }: Listed) => `${createdAt} ${id}`;
  return listed.toSorted((a, b) => (place(a) < place(b) ? 1 : -1)).map(({ id }) => id);
}
