import { expect, it } from "vitest";
import { isStatementError } from "../../runtime/warehouse/postgres/errors.js";

const coded = (code: string, severity: string) => Object.assign(new Error("any"), { code, severity });

it.each([
  ["22012", "ERROR"],
  ["22012", "FEHLER"],
  ["42P01", "ERREUR"],
  ["57014", "ERROR"],
  ["XX000", "ERROR"],
])("%s (%s) is the statement's, in whatever language the server says so", (code, severity) => {
  expect(isStatementError(coded(code, severity))).toBe(true);
});

it.each(["57P01", "57P02", "57P05", "25P03", "25P04", "08006", "ECONNRESET", "EPIPE"])(
  "%s is the connection's",
  (code) => {
    expect(isStatementError(coded(code, "ERROR"))).toBe(false);
  },
);

it("an error without a code is the connection's", () => {
  expect(isStatementError(new Error("Connection terminated unexpectedly"))).toBe(false);
});
