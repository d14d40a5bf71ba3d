import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import {
  failed,
  messageOf,
  type Outcome,
  succeeded,
  type Tier,
  TIERS,
  unlessFailed,
} from "@routewright/runtime/model";
import {
  listOf,
  mapOf,
  name,
  oneOf,
  openRecord,
  record,
  type Schema,
  text,
  type ValueOf,
  wholeNumber,
} from "@routewright/runtime/model";
import { HINT, schemaErrorOf, validatorOf } from "../../manifest/schema-errors.js";
import { readSource } from "../../artifacts/source.js";
import { parseYamlExactly } from "./exact-numbers.js";

const anyObject = openRecord({}) as Schema<Readonly<Record<string, unknown>>>;

/** A file of endpoint tests (generator/docs/commands.md, Endpoint tests). */
export const TESTS_SCHEMA = listOf(
  record(
    {
      name,
      request: {
        ...text,
        pattern: "^(GET|POST) /",
        [HINT]: 'Write method and path, such as "GET /v1/shop/orders?limit=1".',
      },
      expect: record(
        {},
        {
          status: wholeNumber(100, 599),
          /** All rows, in their order. */
          rows: listOf(anyObject),
          /** Values that a row, or an answer without rows, has. */
          contains: anyObject,
          /** The columns of every row, in their order. */
          columns: listOf(text),
          headers: mapOf(text),
          /** How many rows. */
          count: wholeNumber(0),
        },
      ),
    },
    {
      /** Who asks: a key of this tier; nobody when left out. */
      tier: oneOf(TIERS),
      /** The organization of that key. */
      org: text,
      /** A key of the server's, as `$NAME` for a variable of the environment. */
      key: { ...text, pattern: "^\\$[A-Za-z_][A-Za-z0-9_]*$", [HINT]: "Name a variable: `$TEST_KEY`." },
      headers: mapOf(text),
      body: anyObject,
    },
  ),
);

type CaseRecord = ValueOf<typeof TESTS_SCHEMA>[number];

export type EndpointTest = CaseRecord & {
  readonly file: string;
  readonly method: "GET" | "POST";
  /** With its query string. */
  readonly target: string;
};

const errorsIn = validatorOf("endpoint-tests");

/** Reads all tests below a folder, file by file. Reports every problem. */
export async function readTests(folder: string): Promise<Outcome<readonly EndpointTest[]>> {
  if (!existsSync(folder)) return succeeded([]);
  if (!statSync(folder).isDirectory())
    return failed(`${folder} is a file: name the folder of endpoint tests in \`tests\` of the config file.`);
  const files = (readdirSync(folder, { recursive: true }) as string[])
    .filter((file) => /\.ya?ml$/.test(file))
    .sort();
  const readings = await Promise.all(files.map((file) => readTestFile(join(folder, file))));
  const problems = readings.flatMap((reading) => (reading.ok ? [] : reading.problems));
  return unlessFailed(
    problems,
    readings.flatMap((reading) => (reading.ok ? reading.value : [])),
  );
}

async function readTestFile(file: string): Promise<Outcome<readonly EndpointTest[]>> {
  const source = await readSource(file);
  if (!source.ok) return source;
  try {
    const value = (await parseYamlExactly(source.value.text)) ?? [];
    const errors = errorsIn(value).map(schemaErrorOf);
    if (errors.length === 0)
      return succeeded((value as readonly CaseRecord[]).map((one) => testOf(one, file)));
    return failed(...errors.map(({ at, message, hint }) => `${file}${at && `, ${at}`}: ${message} ${hint}`));
  } catch (error) {
    return failed(`${file} is not YAML: ${messageOf(error).split("\n")[0] ?? ""}`);
  }
}

function testOf(one: CaseRecord, file: string): EndpointTest {
  const [method = "", target = ""] = one.request.split(/\s+/, 2);
  return { ...one, file, method: method === "POST" ? "POST" : "GET", target };
}

/** The path of a test without its query string. */
export function pathIn({ target }: EndpointTest): string {
  return target.split("?", 1)[0] ?? "";
}

/** The tier whose key a test uses; null for callers without a key. */
export function tierIn({ tier, org }: EndpointTest): Tier | null {
  return tier ?? (org === undefined ? null : "tier0");
}
