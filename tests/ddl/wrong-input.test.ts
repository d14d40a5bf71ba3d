/** What `routewright ddl` says of wrong input. Nothing that it says holds a key or a password. */
import { describe, expect, it } from "vitest";
import { needs } from "../support/needs.js";
import { COPY_ENGINES, CopiedProject, writeParquet } from "./copies.js";

const MODELS = ["orders", "customers"].map((name) => ({ name, columns: { id: "NUMBER(10,0)" } }));

/** Arguments, variables, and what the message says. */
const WRONG: readonly (readonly [
  args: readonly string[],
  says: RegExp,
  variables?: Record<string, string>,
])[] = [
  [["--from", "x.parquet"], /one place for 2 relations: write \{name\}/],
  [["--from", "{nam}.parquet"], /unknown placeholder \{nam\}/],
  [["--from", "ftp://host/{name}"], /starts with ftp:\/\/, which is not read/],
  [["--from", "s3://{name}"], /not a complete s3:\/\/ address/],
  [["--from", "{name}.parquet", "--select", "nothing"], /No endpoint reads nothing/],
  [["--from", "{name}.parquet", "--apply"], /LOAD_DATABASE_URL/, { LOAD_DATABASE_URL: "" }],
  [
    ["--from", "{name}.parquet", "--apply"],
    /must be a (?:postgres|clickhouse):\/\//,
    { LOAD_DATABASE_URL: "mysql://u:geheim@h/d" },
  ],
  [
    ["--from", "{name}.parquet", "--apply"],
    /(?:PostgreSQL|ClickHouse) cannot be reached/,
    { postgres: "postgres://u:geheim@127.0.0.1:1/d", clickhouse: "clickhouse://u:geheim@127.0.0.1:1/d" },
  ],
  [["--from", "missing/{name}.parquet", "--apply"], /cannot read the export of .+\.customers/],
  [["--from", "http://u:geheim@127.0.0.1:1/{name}.parquet?X-Amz-Signature=geheim"], /load with --apply/],
  [
    ["--from", "http://u:geheim@127.0.0.1:1/{name}.parquet?X-Amz-Signature=geheim", "--apply"],
    /cannot read the export|cannot be set up/,
  ],
  [
    ["--from", "http://127.0.0.1:1/{name}.parquet?signature=geheim%", "--apply"],
    /cannot read the export|cannot be set up/,
  ],
];

describe.skipIf(!needs("pyarrow")).each(COPY_ENGINES)("ddl for %s", async (engine) => {
  const project = await CopiedProject.of(engine, "snowflake", ...MODELS);
  const cases = WRONG.map(([args, says, named = {}]) => [args.join(" "), args, says, named] as const);
  it.each(cases)("%s", async (_, args, says, named) => {
    const { [engine]: own, ...variables } = named;
    const { exit, out, err } = await project.ddl(
      args,
      own === undefined ? variables : { LOAD_DATABASE_URL: own },
    );
    expect({ exit, out, err }).toEqual({ exit: 2, out: "", err: expect.stringMatching(says) as string });
    expect(err).not.toContain("geheim");
  });
});

it.skipIf(!needs("pyarrow"))("a view needs an engine that reads exports", async () => {
  const project = await CopiedProject.of("postgres", "snowflake", ...MODELS);
  await writeParquet(project.file("orders.parquet"), "{'id': pa.array([1])}");
  expect(await project.load("--as", "view")).toMatchObject({
    exit: 2,
    err: expect.stringContaining("`--as view` needs ClickHouse") as string,
  });
});
