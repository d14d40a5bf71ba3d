/**
 * The embedded PostgreSQL can't serve here. The message is one line: what is wrong, then the way out, which is always
 * to set `DATABASE_URL`.
 */
export class EmbeddedPostgresUnavailable extends Error {
  override readonly name = "EmbeddedPostgresUnavailable";

  constructor(why: string, options?: ErrorOptions) {
    const oneLine = why.trim().replace(/\s*\n\s*/g, " | ");
    super(
      `The embedded PostgreSQL is not available: ${oneLine}. To use another server, set DATABASE_URL.`,
      options,
    );
  }
}
