/** Rows that are longer than a result may be: the error names the parameters that read part of the row, and those that skip it. */
import { expect, it } from "vitest";
import { ownSchema } from "../../support/database.js";
import { sendRequest } from "../../support/http-client.js";
import { manifestOf } from "../../support/manifest.js";
import { serveManifest } from "../../support/service.js";

/** The fourth row is longer than is read at all. */
const schema = await ownSchema(`CREATE TABLE @.notes AS
  SELECT i AS n, repeat('x', CASE i WHEN 2 THEN 30000 WHEN 4 THEN 300000 ELSE 1 END) AS text FROM generate_series(1, 5) AS i`);
const columns = { n: "integer", text: "text" };
const api = {
  ...{ allow_unfiltered: true, sort: [{ column: "n", direction: "ASC" }] },
  pagination: { enabled: true, default_limit: 10, max_limit: 50 },
};
const note = { schema, alias: "notes", key: "n", columns, api };
const url = await serveManifest(
  manifestOf([
    { ...note, name: "paged", routewright: { fields: true } },
    { ...note, name: "followed", routewright: { fields: true, cursor: true } },
    { ...note, name: "whole", api: { allow_unfiltered: true } },
  ]),
);

interface Told {
  readonly isError: boolean;
  readonly text: string;
}

async function query(name: string, args: object = {}): Promise<Told> {
  const { text } = await sendRequest(url, "/mcp", {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
    body: {
      ...{ jsonrpc: "2.0", id: 1, method: "tools/call" },
      params: { name: "query_endpoint", arguments: { path: `/v1/shop/${name}`, ...args } },
    },
  });
  const { result } = JSON.parse(text.replace(/^[^{]*/, "")) as {
    result: { content: [{ text: string }]; isError?: boolean };
  };
  return { isError: result.isError === true, text: result.content[0].text };
}

function rows({ text }: Told): readonly number[] {
  return (JSON.parse(text) as { rows: readonly { n: number }[] }).rows.map(({ n }) => n);
}

const TOO_LONG = "The next row has more than 20000 characters.";
const PART = "Ask for some of its columns: the parameter fields.";

it("a row that is too long can be read in part, and skipped by its offset", async () => {
  expect(rows(await query("paged"))).toEqual([1]);
  for (const offset of [1, 3])
    expect(await query("paged", { offset })).toEqual({
      isError: true,
      text: `${TOO_LONG} ${PART} To continue after it: offset ${String(offset + 1)}.`,
    });
  expect(rows(await query("paged", { offset: 2 }))).toEqual([3]);
  expect(rows(await query("paged", { offset: 1, parameters: { fields: "n" } }))).toEqual([2, 3, 4, 5]);
});

it("a row that is too long can be skipped by a cursor", async () => {
  const { next_cursor: second } = JSON.parse((await query("followed")).text) as { next_cursor: string };
  const { isError, text } = await query("followed", { cursor: second });
  const [, told, third] = /^(.*) To continue after it: cursor (.+)\.$/.exec(text) ?? [];
  expect([isError, told]).toEqual([true, `${TOO_LONG} ${PART}`]);
  expect(rows(await query("followed", { cursor: third }))).toEqual([3]);
});

it("rows before one that is too long are returned where an endpoint has no pages", async () => {
  expect(rows(await query("whole"))).toEqual([1]);
});
