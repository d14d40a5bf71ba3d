import { setImmediate as nextTurn } from "node:timers/promises";

/** Lines that are read or written in one go: a few milliseconds' worth. */
const PIECE = 5000;

/** One metric: its description, and its values by series (name and labels). */
interface Family {
  readonly head: string;
  readonly combine: (a: number, b: number) => number;
  /** Whether its values only grow, over the life of a process. */
  readonly grows: boolean;
  readonly values: Map<string, number>;
}

const sum = (a: number, b: number): number => a + b;

/** Gauges of which each process has a share of its own. Of the others, such as a limit, the highest tells most. */
const SHARED_OUT = /(_bytes|_fds|^nodejs_active_\w+)$/;

/** Metrics of several processes as if they were one's: what counts up and what takes memory is added. */
export class CombinedMetrics {
  readonly #families = new Map<string, Family>();

  /** Adds what a process tells, as Prometheus text. `growingOnly`: it is gone, and only what it has counted stays. */
  async add(text: string, growingOnly = false): Promise<void> {
    let family: Family | null = null;
    let help = "";
    let lines = 0;
    for (const line of text.split("\n")) {
      if (++lines % PIECE === 0) await nextTurn();
      if (line.startsWith("# HELP ")) help = line;
      else if (line.startsWith("# TYPE ")) family = this.#familyOf(line, help);
      else if (line !== "" && family !== null && (family.grows || !growingOnly)) addValue(family, line);
    }
  }

  /** Forgets what was counted of routes that are gone. */
  forget(routes: readonly string[]): void {
    const isGone = new Set(routes);
    for (const { values } of this.#families.values())
      for (const series of values.keys()) if (isGone.has(routeOf(series))) values.delete(series);
  }

  /** Prometheus text. */
  async text(): Promise<string> {
    const pieces: string[] = [];
    for (const { head, values } of this.#families.values()) {
      if (values.size === 0) continue;
      pieces.push(head);
      for (const [series, value] of values)
        if (pieces.push(`${series} ${written(value)}`) % PIECE === 0) await nextTurn();
    }
    return `${pieces.join("\n")}\n`;
  }

  /** `line`: `# TYPE <name> <type>`. */
  #familyOf(line: string, help: string): Family {
    const [, , name = "", type] = line.split(" ");
    const known = this.#families.get(name);
    if (known) return known;
    const grows = type === "counter" || type === "histogram";
    const combine = grows || SHARED_OUT.test(name) ? sum : Math.max;
    const family = { head: `${help}\n${line}`, combine, grows, values: new Map<string, number>() };
    this.#families.set(name, family);
    return family;
  }
}

/** Empty for a series without a route. */
function routeOf(series: string): string {
  return /\{route="([^"]*)"/.exec(series)?.[1] ?? "";
}

/** A value stands behind the last space; labels may have spaces in them. */
function addValue({ values, combine }: Family, line: string): void {
  const end = line.lastIndexOf(" ");
  const series = line.slice(0, end);
  const value = numberOf(line.slice(end + 1));
  const before = values.get(series);
  values.set(series, before === undefined ? value : combine(before, value));
}

function numberOf(text: string): number {
  if (text === "+Inf") return Infinity;
  return text === "-Inf" ? -Infinity : Number(text);
}

function written(value: number): string {
  if (value === Infinity) return "+Inf";
  return value === -Infinity ? "-Inf" : String(value);
}
