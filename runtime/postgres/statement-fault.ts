/** Conditions after which the database closes the connection: it is shutting down, or the session has ended. */
const SESSION_OVER = /^(08...|57P0.|25P03)$/;

/**
 * Whether the database itself refused a statement: the connection is as good as before. What it calls an error is said in
 * the language of its server, so its code has to tell; codes of the operating system look different.
 */
export function isStatementFault(error: unknown): boolean {
  const { code } = error as { readonly code?: unknown };
  return typeof code === "string" && /^[0-9FHPX][0-9A-Z]{4}$/.test(code) && !SESSION_OVER.test(code);
}
