import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ERRORS } from "../../runtime/core/model/errors.js";
import { pageText, rowsOf } from "../support/pages.js";

it("the table of errors in runtime/docs/errors.md is the table of the code, both ways", () => {
  const rows = rowsOf("runtime/docs/errors.md").map(([code, status, detail = "", when]) => [
    code,
    status,
    detail.replace(/^`(.*)`$/, "$1"),
    when,
  ]);
  const expected = Object.entries(ERRORS).map(([code, { status, detail, when }]) => [
    code,
    String(status),
    detail,
    when,
  ]);
  expect(rows).toEqual(expected);
});

it("every message of the page Troubleshooting is one that the code writes", () => {
  const messages = pageText("runtime/docs/troubleshooting.md")
    .split("\n")
    .flatMap((line) =>
      [...(line.split("|")[1] ?? "").matchAll(/`([^`]+)`/g)].map(([, message = ""]) => message),
    );
  // Of the generator, what reads dbt's files while serving.
  const folders = ["runtime", "generator/artifacts"].map((name) => join(import.meta.dirname, "../..", name));
  const code = folders
    .flatMap((folder) =>
      readdirSync(folder, { recursive: true, encoding: "utf8" })
        .filter((file) => file.endsWith(".ts") && !/^(dist|node_modules)\//.test(file))
        .map((file) => readFileSync(join(folder, file), "utf8")),
    )
    .join("\n");
  expect(messages.length).toBeGreaterThan(10);
  expect(messages.filter((message) => !code.includes(message))).toEqual([]);
});
