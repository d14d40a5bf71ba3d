import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { atEnd } from "../../support/at-end.js";
import { bundleOf } from "../../support/bundle.js";
import { byEngine, engineUrl, ownTables } from "../../support/engines.js";
import { manifestOf } from "../../support/manifest.js";
import { generateInto, KEYS, ownFolder } from "../../support/service.js";
import type { Figure } from "./service-process.js";

export interface OwnService {
  readonly url: string;
  /** What it has logged. */
  readonly logged: () => string;
  /** Bytes of memory in use after something and a collection, beside those in use before. */
  readonly keptBytes: (work: () => Promise<unknown>) => Promise<number>;
  /** Processor time that something takes, in multiples of parsing 1 MiB of JSON there just before and after it. */
  readonly processorCost: (work: () => Promise<unknown>) => Promise<number>;
}

const PARAMETERS = [
  { name: "status", column: "status", operator: "=", type: "string" },
  { name: "label", column: "label", operator: "ILIKE", type: "string" },
  { name: "from", column: "day", operator: ">=", type: "date" },
  { name: "any", column: "status", operator: "IN", type: "string_list", case: "lower" },
];

/** Serves one endpoint, `/v1/shop/orders`, from a process of its own; it ends with the test file. */
export async function ownService(variables: Readonly<Record<string, string>> = {}): Promise<OwnService> {
  const rows = `INSERT INTO @.orders VALUES (1, '2024-01-01', 'Open', 'first'), (2, '2024-01-02', 'Closed', 'second')`;
  const schema = await ownTables({
    postgres: `CREATE TABLE @.orders (id int, day date, status text, label text); ${rows}`,
    clickhouse: ["CREATE TABLE @.orders (id Int32, day Date, status String, label String) ORDER BY id", rows],
  });
  const api = { methods: ["GET", "POST"], allow_unfiltered: true, parameters: PARAMETERS };
  const model = { name: "orders", schema, api, routewright: { fields: true } };
  const columns = byEngine({
    postgres: { id: "integer", day: "date", status: "text", label: "text" },
    clickhouse: { id: "Int32", day: "Date", status: "String", label: "String" },
  });
  const generated = ownFolder();
  generateInto(generated, manifestOf([{ ...model, columns }]));
  const environment = {
    DATABASE_URL: engineUrl(),
    API_KEYS: JSON.stringify({ [KEYS.tier3]: "tier3" }),
    PORT: "0",
    LOG_LEVEL: "silent",
    ...variables,
  };
  return started({ ...environment, GENERATED: generated, DATA: ownFolder() });
}

async function started(environment: Readonly<Record<string, string>>): Promise<OwnService> {
  const path = await bundleOf(fileURLToPath(new URL("./service-process.ts", import.meta.url)));
  const child = fork(path, {
    execArgv: ["--expose-gc"],
    env: { PATH: process.env["PATH"], ...environment },
    stdio: ["ignore", "pipe", "inherit", "ipc"],
  });
  atEnd(() => void child.kill("SIGKILL"));
  let logged = "";
  child.stdout?.on("data", (chunk: Buffer) => (logged += chunk.toString()));
  const [url] = (await once(child, "message")) as [string];
  const read = async (figure: Figure): Promise<number> => {
    const answer = once(child, "message");
    child.send(figure);
    return ((await answer) as [number])[0];
  };
  const growth = (figure: Figure) => async (work: () => Promise<unknown>) => {
    const before = await read(figure);
    await work();
    return (await read(figure)) - before;
  };
  /** Garbage of before is collected before. */
  const collected = async <Result>(measure: () => Promise<Result>): Promise<Result> => {
    await read("usedBytes");
    return measure();
  };
  const parsing = () => collected(() => read("parsingMs"));
  return {
    url,
    logged: () => logged,
    keptBytes: growth("usedBytes"),
    processorCost: async (work) => {
      const before = await parsing();
      const cost = await collected(() => growth("processorMs")(work));
      return cost / ((before + (await parsing())) / 2);
    },
  };
}
