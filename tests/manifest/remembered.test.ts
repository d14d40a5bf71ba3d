import { expect, it } from "vitest";
import { Remembered } from "../../generator/manifest/remembered.js";

it("makes the value of a text once, null too, until so many texts have come", () => {
  const made: string[] = [];
  const found = new Remembered<string | null>(2);
  const of = (text: string): string | null =>
    found.of(text, () => {
      made.push(text);
      return text === "none" ? null : text.toUpperCase();
    });
  expect(["a", "none", "a", "none"].map(of)).toEqual(["A", null, "A", null]);
  expect(made).toEqual(["a", "none"]);
  expect(["b", "a"].map(of)).toEqual(["B", "A"]);
  expect(made).toEqual(["a", "none", "b", "a"]);
});
