import { cpuSeconds } from "../cpu-time.js";
import type { JobResult } from "../ramp/job.js";
import { openStage, type Stage } from "../ramp/stage.js";
import { Worker } from "../ramp/worker-process.js";
import type { Findings, Row } from "../report.js";
import { interleave } from "../rounds.js";
import { median, ratioOf } from "../statistics.js";
import type { Setting } from "./section.js";

/** More than the connections that either side has to the database. */
const CONNECTIONS = 32;

const NAMES = { bare: "bare pg transaction", ramp: "POST /v1/intent, keyed" } as const;

type Lap = JobResult & { readonly cpu: number };
type Results = Record<keyof typeof NAMES, Lap[]>;

/** Keyed intents a second, beside a program that does nothing but write the same rows. */
export async function ramp(setting: Setting): Promise<Findings> {
  setting.progress("ramp: starting the database, the sandbox provider and the ramp");
  const stage = await openStage(setting.folder);
  const worker = new Worker();
  try {
    setting.progress("ramp: creating intents");
    return findings(await race(stage, worker, setting));
  } finally {
    worker.stop();
    await stage.stop();
  }
}

async function race(
  { ramp: server, databaseUrl, tokens, owners }: Stage,
  worker: Worker,
  { effort: { rounds, roundMs, warmUpMs } }: Setting,
): Promise<Results> {
  const { port, pid } = server;
  const create = async (milliseconds: number): Promise<Lap> => {
    const before = cpuSeconds(pid);
    const result = await worker.run({ kind: "create", port, tokens, connections: CONNECTIONS, milliseconds });
    const seconds = cpuSeconds(pid) - before;
    return { ...result, cpu: (seconds * 1e9) / (result.intentsPerSecond * milliseconds) };
  };
  const write = async (milliseconds: number): Promise<Lap> => {
    const stretch = { connections: CONNECTIONS, milliseconds };
    const result = await worker.run({ kind: "bare", databaseUrl, owners, ...stretch });
    return { ...result, cpu: (result.load * 1e6) / result.intentsPerSecond };
  };
  await create(warmUpMs);
  await write(warmUpMs);
  return interleave({ bare: () => write(roundMs), ramp: () => create(roundMs) }, rounds);
}

function findings({ bare, ramp: own }: Results): Findings {
  const ratio = ratioOf(speeds(own), speeds(bare));
  return {
    tables: [
      {
        title: `ramp: intents created, ${String(CONNECTIONS)} connections, each intent with a key of its own`,
        columns: [
          { key: "what", head: "what" },
          { key: "intentsPerSecond", head: "intents/s", digits: 0 },
          { key: "p50", head: "p50 ms", digits: 1 },
          { key: "p99", head: "p99 ms", digits: 1 },
          { key: "cpu", head: "CPU µs/intent", digits: 0 },
          { key: "ratio", head: "of bare", digits: 2 },
        ],
        rows: [
          { what: NAMES.bare, ...row(bare), ratio: 1 },
          { what: NAMES.ramp, ...row(own), ratio: ratio.median },
        ],
        notes: NOTES,
      },
    ],
    bars: [
      {
        what: `intents/s, keyed POST /v1/intent to ${NAMES.bare}`,
        ...ratio,
        expected: { atLeast: 0.4 },
      },
    ],
  };
}

const NOTES = [
  "The bare transaction, one program with 20 connections and prepared statements: BEGIN, claim, intent, requirement,\n" +
    "4 events, 2 moves of the intent, the answer stored with the claim, COMMIT. 10 statements one after the other and\n" +
    "1 commit, into the same tables with their keys and triggers; as the superuser, so without row-level security.",
  "The ramp writes the same rows in 2 commits, since it asks the provider in between with no transaction open. HTTP, token,\n" +
    "checks, signing and sealing come on top, and the provider is a process of its own on the same machine. No webhook is\n" +
    "set up, so neither side has deliveries and jobs to write.",
];

function speeds(laps: readonly Lap[]): number[] {
  return laps.map(({ intentsPerSecond }) => intentsPerSecond);
}

function row(laps: readonly Lap[]): Row {
  const of = (key: "intentsPerSecond" | "p50" | "p99" | "cpu"): number => median(laps.map((lap) => lap[key]));
  return { intentsPerSecond: of("intentsPerSecond"), p50: of("p50"), p99: of("p99"), cpu: of("cpu") };
}
