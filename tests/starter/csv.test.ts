import { describe, expect, it } from "vitest";
import { parseCsv } from "../../scripts/demo/starter.js";

describe("a CSV file", () => {
  it("may quote commas, quotes and line breaks", () => {
    expect(parseCsv('name,note\n"Works, Ltd","says ""hi""\nand leaves"\n')).toEqual({
      header: ["name", "note"],
      records: [["Works, Ltd", 'says "hi"\nand leaves']],
    });
  });

  it("reads empty fields as null, the last of a record too", () => {
    expect(parseCsv('a,b,c\n,"",\n').records).toEqual([[null, null, null]]);
  });

  it("may end with or without a line break, of either kind, and begin with a byte order mark", () => {
    expect(parseCsv("\uFEFFa,b\r\n1,2")).toEqual({ header: ["a", "b"], records: [["1", "2"]] });
    expect(parseCsv("a,b\r\n1,2\r\n").records).toEqual([["1", "2"]]);
    expect(parseCsv("a,b\n1,").records).toEqual([["1", null]]);
  });

  it("is refused when a quote is out of place, with the line", () => {
    expect(() => parseCsv('a,b\n1,x"y\n')).toThrow("Line 2: a quote is out of place.");
    expect(() => parseCsv('a\n"open\n')).toThrow("Line 2: a quote is out of place.");
  });

  it("is refused when a record is longer or shorter than the header", () => {
    expect(() => parseCsv("a,b\n1,2\n1,2,3\n")).toThrow("Record 2 has 3 fields; the header has 2.");
  });

  it("is refused when it is empty", () => {
    expect(() => parseCsv("")).toThrow("The file is empty; it needs a header line.");
  });
});
