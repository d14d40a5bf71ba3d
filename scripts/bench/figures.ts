/** `BENCH_SHORT`: short rounds and few cases, for a look. */
export const IS_SHORT = process.env["BENCH_SHORT"] !== undefined;

/** What is printed above figures. */
const titled = (title: string): string => (IS_SHORT ? `${title} (short rounds: rough figures)` : title);

/** What a section gets. */
export interface Setting {
  /** Folder for files, kept from run to run. */
  readonly folder: string;
  readonly progress: (line: string) => void;
  /** Stops what the section started when it ends, in reverse order. */
  readonly keep: <T extends { stop(): Promise<void> }>(started: T) => T;
}

/** A part of the benchmark that can run alone. */
export type Section = (setting: Setting) => Promise<Findings>;

/** Figures by their names. */
export type Figures = Readonly<Record<string, number>>;

export interface Table {
  readonly title: string;
  readonly rows: Readonly<Record<string, Figures>>;
  readonly note?: string;
}

/** A measured ratio and its limit. */
export interface Bar {
  readonly name: string;
  readonly ratio: Spread;
  readonly limit: { readonly atLeast: number } | { readonly atMost: number };
}

/** A table as a page of the documentation has it: its head, and its rows. */
export interface PageTable {
  readonly title: string;
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** The result of one section. */
export interface Findings {
  readonly tables: readonly Table[];
  readonly page?: readonly PageTable[];
  readonly bars: readonly Bar[];
}

/** Figures of Routewright and of what it is compared with, round by round. */
export type Compared<Sample extends Figures = Figures> = Readonly<
  Record<"bare" | "routewright", readonly Sample[]>
>;

/** A figure of Routewright in multiples of the other's. */
export function compareFigure<Sample extends Figures>(
  name: string,
  { bare, routewright }: Compared<Sample>,
  figure: keyof Sample & string,
  limit: Bar["limit"],
): Bar {
  const of = (samples: readonly Sample[]): number[] => samples.map((sample) => sample[figure] ?? NaN);
  return { name, ratio: ratioOf(of(routewright), of(bare)), limit };
}

/** Memory in MiB, measured once. */
export function memoryBar(memory: number, limit: number): Bar {
  const ratio = memory / limit;
  return {
    name: `memory above idle, to ${String(limit)} MiB`,
    ratio: { median: ratio, lowest: ratio, highest: ratio },
    limit: { atMost: 1 },
  };
}

export function isMet({ ratio: { median }, limit }: Bar): boolean {
  return "atLeast" in limit ? median >= limit.atLeast : median <= limit.atMost;
}

export function printTable({ title, rows, note }: Table): void {
  const shown = Object.entries(rows).map(([name, figures]) => [name, rounded(figures)]);
  console.log(`\n${titled(title)}`);
  console.table(Object.fromEntries(shown));
  if (note !== undefined) console.log(note);
}

/** As Markdown. */
export function printPageTable({ title, head, rows }: PageTable): void {
  const widths = head.map((cell, i) => Math.max(cell.length, ...rows.map((row) => row[i]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(" | ")} |`;
  const rule = widths.map((width) => "-".repeat(width));
  console.log([`\n${titled(title)}\n`, ...[head, rule, ...rows].map(line)].join("\n"));
}

/** A number as pages have it: with commas, from 100 on without a fraction. Empty where it was not measured. */
export function figureText(value: number | undefined, unit = ""): string {
  if (value === undefined || Number.isNaN(value)) return "";
  const digits = Math.abs(value) >= 100 || Number.isInteger(value) ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  const text = value.toLocaleString("en-US", { maximumFractionDigits: digits });
  return unit === "" ? text : `${text} ${unit}`;
}

/** The bars with their verdicts. */
export function printBars(bars: readonly Bar[]): void {
  const shown = bars.map((bar) => {
    const verdict = isMet(bar) ? "ok" : "MISSED";
    return [bar.name, { verdict, ...bar.limit, ...rounded({ ...bar.ratio }) }];
  });
  console.log(`\n${titled("Bars: the median of the rounds' ratios, and its limit")}`);
  console.table(Object.fromEntries(shown));
}

/** Those that were measured, large ones without a fraction. */
function rounded(figures: Figures): Figures {
  const round = (value: number): number => Number(value.toFixed(value < 100 ? 2 : 0));
  const measured = Object.entries(figures).filter(([, value]) => !Number.isNaN(value));
  return Object.fromEntries(measured.map(([name, value]) => [name, round(value)]));
}

/** The median of some values, and their range. */
export interface Spread {
  readonly median: number;
  readonly lowest: number;
  readonly highest: number;
}

function spreadOf(values: readonly number[]): Spread {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (place: number): number => sorted[place] ?? NaN;
  const last = sorted.length - 1;
  return {
    median: (at(Math.floor(last / 2)) + at(Math.ceil(last / 2))) / 2,
    lowest: at(0),
    highest: at(last),
  };
}

export function median(values: readonly number[]): number {
  return spreadOf(values).median;
}

/** The median of each figure. */
export function medians<Name extends string>(
  samples: readonly Readonly<Record<Name, number>>[],
): Record<Name, number> {
  const names = Object.keys(samples[0] ?? {}) as Name[];
  const entries = names.map((name) => [name, median(samples.map((sample) => sample[name]))]);
  return Object.fromEntries(entries) as Record<Name, number>;
}

/** The ratio of two subjects round by round: what slows a whole round down is in both figures and cancels. */
export function ratioOf(numerators: readonly number[], denominators: readonly number[]): Spread {
  return spreadOf(numerators.map((value, round) => value / (denominators[round] ?? NaN)));
}

/** Many short rounds rather than few long ones: a disturbance of the machine then falls on all subjects alike. */
const ROUNDS = IS_SHORT ? 3 : 9;

/**
 * Measures subjects in turn and returns the samples of each by round. Every other round runs in reverse order, so that a
 * machine that slows down steadily favours no subject. `BENCH_ROUNDS` overrides the number of rounds.
 */
export async function interleave<Name extends string, Sample>(
  subjects: Readonly<Record<Name, () => Promise<Sample>>>,
  usualRounds = ROUNDS,
): Promise<Record<Name, Sample[]>> {
  const rounds = Number(process.env["BENCH_ROUNDS"] ?? usualRounds);
  const names = Object.keys(subjects) as Name[];
  const samples = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<Name, Sample[]>;
  for (let round = 0; round < rounds; round++) {
    for (const name of round % 2 === 0 ? names : names.toReversed())
      samples[name].push(await subjects[name]());
  }
  return samples;
}
