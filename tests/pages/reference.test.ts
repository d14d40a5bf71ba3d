import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ERRORS } from "../../runtime/model/errors.js";

const reference = readFileSync(join(import.meta.dirname, "../../runtime/README.md"), "utf8");

it("the table of errors in runtime/README.md is the table of the code, both ways", () => {
  const section = reference.split("\n## Errors\n")[1]?.split("\n## ")[0] ?? "";
  const rows = section
    .split("\n")
    .filter((line) => /^\| `/.test(line))
    .map((line) => line.split("|").map((cell) => cell.trim().replace(/^`(.*)`$/, "$1")))
    .map(([, code, status, detail, when]) => [code, status, detail, when]);
  const expected = Object.entries(ERRORS).map(([code, { status, detail, when }]) => [
    code,
    String(status),
    detail,
    when,
  ]);
  expect(rows).toEqual(expected);
});

it("every message of the section Troubleshooting is one that the code writes", () => {
  const section = reference.split("\n## Troubleshooting\n")[1]?.split("\n## ")[0] ?? "";
  const messages = section
    .split("\n")
    .flatMap((line) =>
      [...(line.split("|")[1] ?? "").matchAll(/`([^`]+)`/g)].map(([, message = ""]) => message),
    );
  const runtime = join(import.meta.dirname, "../../runtime");
  const code = readdirSync(runtime, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts") && !/^(dist|node_modules)\//.test(file))
    .map((file) => readFileSync(join(runtime, file), "utf8"))
    .join("\n");
  expect(messages.length).toBeGreaterThan(10);
  expect(messages.filter((message) => !code.includes(message))).toEqual([]);
});
