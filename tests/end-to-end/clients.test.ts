/** Clients that no one here wrote read all rows of an endpoint, by the lines of runtime/docs/clients.md. */
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  blocksOf,
  root,
  shell,
  SHORT_JAVA,
  startUntil,
  textOf,
  type Variables,
} from "../support/commands.js";
import { ownSchema } from "../support/database.js";
import { manifestOf } from "../support/manifest.js";
import { needs, type Program, programPath } from "../support/needs.js";
import { KEYS, ownFolder, serveManifest } from "../support/service.js";

const ROWS = 2500;
/** How many rows, and the sum of their ids, as each program prints them. */
const EXPECTED = `${String(ROWS)} ${String((ROWS * (ROWS + 1)) / 2)}`;

const schema = await ownSchema(
  `CREATE TABLE @.orders AS SELECT g AS id, 'customer ' || g % 97 AS customer, (g * 1.01)::numeric(10,2) AS amount,
     timestamptz '2026-01-01 00:00Z' + g * interval '1 minute' AS ordered_at, CASE WHEN g % 3 = 0 THEN 'note ' || g END AS note
     FROM generate_series(1, ${String(ROWS)}) g;
   ALTER TABLE @.orders ADD PRIMARY KEY (id);
   CREATE TABLE @.days AS SELECT date '2026-01-01' + g AS day, g AS orders, 'shop' AS shop FROM generate_series(1, 20) g`,
);
const key = KEYS.tier3;
const url = await serveManifest(
  manifestOf([
    {
      ...{ name: "orders", schema, key: "id", description: "Orders of the shop." },
      tags: ["production", "shop", "api:orders", "tier1"],
      columns: {
        ...{ id: "integer", customer: "text", amount: "numeric(10,2)" },
        ...{ ordered_at: "timestamptz", note: "text" },
      },
      api: {
        allow_unfiltered: true,
        methods: ["GET", "POST"],
        pagination: { enabled: true, default_limit: 100, max_limit: 10_000 },
        sort: [{ column: "id", direction: "ASC" }],
      },
      routewright: { cursor: true, filter: true, fields: true, filters: ["id", "customer", "ordered_at"] },
    },
    // Public, so that examples of system endpoints name it.
    {
      ...{ name: "days", schema, columns: { day: "date", orders: "integer", shop: "text" } },
      api: { allow_unfiltered: true },
    },
  ]),
);

const PAGE = "runtime/docs/clients.md";
const readers = (path: string): string => join(root, ".data/readers", path);
const folders = (...programs: readonly Program[]): string =>
  programs.map((program) => dirname(programPath(program))).join(":");

/** A folder of a consumer's with the document of the API, in which the lines of a section run. */
class Consumer {
  readonly folder = ownFolder();
  readonly #text: string;
  readonly #variables: Variables;

  constructor(section: string, variables: Variables = {}) {
    this.#text = section;
    this.#variables = {
      ...{
        API: url,
        KEY: key,
        GOFLAGS: "-mod=mod",
        PYTHONPATH: readers("python"),
        JAVA_TOOL_OPTIONS: SHORT_JAVA,
      },
      ...variables,
      PATH: `${folders("openapi-ts", "prism", "openapi-generator-cli", "tap-rest-api-msdk")}:${join(root, "node_modules/.bin")}:${process.env["PATH"] ?? ""}`,
    };
    this.write("package.json", '{"type": "module"}');
    symlinkSync(readers("node/node_modules"), join(this.folder, "node_modules"));
  }

  write(file: string, text: string): void {
    mkdirSync(dirname(join(this.folder, file)), { recursive: true });
    writeFileSync(join(this.folder, file), text);
  }

  /** The block of a language, in a file. */
  put(language: string, file: string, change: (text: string) => string = (text) => text): void {
    const [block = ""] = blocksOf(this.#text, language);
    expect(block).not.toBe("");
    this.write(file, change(block));
  }

  /** The commands of the section, one after the other. */
  async generate(): Promise<string> {
    const document = await fetch(`${url}/openapi.json`, { headers: { "X-API-Key": key } });
    this.write("api.json", await document.text());
    return this.run(this.commands().join("\n"));
  }

  commands(): readonly string[] {
    return blocksOf(this.#text, "sh").map((block) => block.replaceAll(/^npx /gm, ""));
  }

  run(command: string): Promise<string> {
    return shell(`set -e\n${command}`, this.folder, this.#variables);
  }

  start(command: string, pattern: RegExp): Promise<RegExpExecArray> {
    return startUntil(command, this.folder, this.#variables, pattern);
  }
}

type Run = (section: string) => Promise<string>;

/** `installed`: the folder of its modules. */
const python =
  (installed: string): Run =>
  (section) => {
    const consumer = new Consumer(section, { PYTHONPATH: readers(installed) });
    consumer.put("python", "orders.py");
    return consumer.run("python3 orders.py");
  };

const generatedPython: Run = async (section) => {
  const consumer = new Consumer(section);
  await consumer.generate();
  consumer.put("python", "orders.py");
  return consumer.run("python3 orders.py");
};

const typescript: Run = async (section) => {
  const consumer = new Consumer(section);
  if (section.includes("```js")) consumer.put("js", "orval.config.mjs");
  await consumer.generate();
  consumer.put("ts", "orders.ts");
  return consumer.run("tsx orders.ts");
};

/** The compiler of `npm run check`, which has no types of Node here. */
const STRICT = `node ${join(root, "node_modules/typescript-native/bin/tsc")} --ignoreConfig --strict --noEmit --target es2022 --module esnext --moduleResolution bundler --lib es2022,dom`;

const strictTypescript: Run = async (section) => {
  const consumer = new Consumer(section);
  await consumer.generate();
  await consumer.run(`${STRICT} fetch/index.ts`);
  consumer.put("ts", "orders.ts");
  return consumer.run("tsx orders.ts");
};

const java: Run = async (section) => {
  const consumer = new Consumer(section);
  await consumer.generate();
  consumer.put("java", "Orders.java");
  const libraries = `'${readers("java")}/*'`;
  await consumer.run(
    `find java/src/main -name '*.java' > sources && javac -encoding UTF-8 -nowarn -proc:none -d classes -cp ${libraries} Orders.java @sources 2> log || (cat log; exit 1)`,
  );
  return consumer.run(`java -cp classes:${libraries} Orders`);
};

const go: Run = async (section) => {
  const consumer = new Consumer(section, { GOCACHE: join(homedir(), ".cache/go-build"), CGO_ENABLED: "0" });
  await consumer.generate();
  consumer.put("go", "go/orders/main.go");
  return consumer.run("cd go && go run ./orders");
};

const duckdb: Run = (section) => {
  const consumer = new Consumer(section);
  // Of the program alone, which reads environment variables.
  const value = (name: string): string => `'${name === "KEY" ? key : url}'`;
  consumer.put("sql", "orders.sql", (sql) =>
    sql.replaceAll(/getenv\('(\w+)'\)/g, (_, name: string) => value(name)),
  );
  consumer.write(
    "orders.py",
    `import duckdb, duckdb_extensions
duckdb_extensions.import_extension("httpfs")
print(*duckdb.sql(open("orders.sql").read()).fetchone())`,
  );
  return consumer.run("python3 orders.py");
};

const tap: Run = async (section) => {
  const consumer = new Consumer(section, { PYTHONPATH: readers("singer") });
  consumer.put("json", "config.json", (text) => text.replace("$API", url).replace("$KEY", key));
  const printed = await consumer.run(consumer.commands().join("\n"));
  const records = printed
    .split("\n")
    .filter((line) => line.includes('"RECORD"'))
    .map((line) => (JSON.parse(line) as { record: { id: number } }).record.id);
  return `${String(records.length)} ${String(records.reduce((sum, id) => sum + id, 0))}`;
};

const prism: Run = async (section) => {
  const consumer = new Consumer(section);
  const document = await fetch(`${url}/openapi.json`, { headers: { "X-API-Key": key } });
  consumer.write("api.json", await document.text());
  const [command = ""] = consumer.commands();
  const started = await consumer.start(
    command.replace("4010", "0"),
    /Prism is listening on (http:\/\/[\d.:]+)/,
  );
  const ids: number[] = [];
  let path: string | undefined = "/v1/shop/orders?limit=1000";
  while (path !== undefined) {
    const reply: Response = await fetch(`${started[1] ?? ""}${path}`, { headers: { "X-API-Key": key } });
    expect(reply.status).toBe(200);
    ids.push(...((await reply.json()) as { id: number }[]).map(({ id }) => id));
    path = /<([^>]+)>; rel="next"/.exec(reply.headers.get("link") ?? "")?.[1];
  }
  return `${String(ids.length)} ${String(ids.reduce((sum, id) => sum + id, 0))}`;
};

const postman: Run = async (section) => {
  const consumer = new Consumer(section);
  const document = await fetch(`${url}/openapi.json`, { headers: { "X-API-Key": key } });
  consumer.write("api.json", await document.text());
  const commands = consumer.commands().join("\n");
  // The stream of events ends in an error.
  await consumer.run(`${commands} --suppress-exit-code --reporters json --reporter-json-export run.json`);
  const { run } = JSON.parse(readFileSync(join(consumer.folder, "run.json"), "utf8")) as {
    run: { executions: { item: { name: string }; response?: { code: number } }[] };
  };
  const others = run.executions.filter(({ response }) => response?.code !== 200);
  return JSON.stringify(others.map(({ item, response }) => [item.name, response?.code ?? null]));
};

interface Client {
  readonly needs: readonly Program[];
  readonly run: Run;
  readonly prints?: string;
}

/** Requests of Postman that are not answered with 200: the page says what to change. */
const NOT_OK = JSON.stringify([
  ["Events", null],
  ["Subscriptions", 503],
  ["Subscribe", 503],
  ["Unsubscribe", 503],
  ["Values of a column", 400],
]);

const GENERATOR = ["openapi-generator-cli"] as const;
const CLIENTS: Readonly<Record<string, Client>> = {
  "pandas 3.1": { needs: ["python3", "pyarrow"], run: python("none") },
  "polars 2.1": { needs: ["python3", "pyarrow"], run: python("none") },
  "DuckDB 1.5": { needs: ["python3", "pyarrow"], run: duckdb },
  "dlt 1.31": { needs: ["dlt"], run: python("python") },
  "tap-rest-api-msdk 1.4": { needs: ["tap-rest-api-msdk"], run: tap },
  "FastMCP 4.1": { needs: ["dlt"], run: python("python") },
  "LangChain, with langchain-mcp-adapters 0.3": { needs: ["tap-rest-api-msdk"], run: python("singer") },
  "hey-api 0.95": { needs: ["openapi-ts"], run: typescript },
  "orval 7.13": { needs: ["orval"], run: typescript },
  "openapi-generator 7.26: typescript-fetch": { needs: GENERATOR, run: strictTypescript },
  "openapi-generator 7.26: typescript-axios": { needs: [...GENERATOR, "prism"], run: typescript },
  "openapi-generator 7.26: python": { needs: GENERATOR, run: generatedPython },
  "openapi-generator 7.26: java": {
    needs: [...GENERATOR, "javac", "odata-client-core-5.0.0.jar"],
    run: java,
  },
  "openapi-generator 7.26: go": { needs: [...GENERATOR, "go"], run: go },
  "openapi-python-client 0.29": { needs: ["openapi-python-client"], run: generatedPython },
  "Prism 5.16": { needs: ["prism"], run: prism },
  "Postman, with openapi-to-postmanv2 6.3 and Newman 6.2": { needs: ["prism"], run: postman, prints: NOT_OK },
};

const sections = new Map(
  textOf(PAGE)
    .split(/^## /m)
    .slice(1)
    .map((section) => [section.slice(0, section.indexOf("\n")), section]),
);

describe.each(Object.entries(CLIENTS))("%s", (name, { needs: programs, run, prints = EXPECTED }) => {
  it.skipIf(!needs(...programs))("reads all rows", async () => {
    expect((await run(sections.get(name) ?? "")).trim()).toBe(prints);
  });
});

it("the page has no client that is not run, and the versions that CI installs", () => {
  expect([...sections.keys()]).toEqual(Object.keys(CLIENTS));
  const installed = textOf(".ci/run");
  const versions = [...sections.keys()].flatMap((name) => [
    ...name.matchAll(/([\w-]+)(?:-api)? (\d+\.\d+)/g),
  ]);
  const missing = versions.filter(
    ([, name = "", version = ""]) =>
      !new RegExp(`${name}[\\w-]*(?:/[\\w-]+)?(?:==|@)${version}\\.`, "i").test(installed),
  );
  expect(missing.map(([heading]) => heading)).toEqual([]);
});
