import type { RelationScript, LoadStep } from "../script.js";

/** A script for psql, which runs the program duckdb for the rows. */
export function psqlScript({ steps }: RelationScript, settings: readonly string[]): string {
  return steps.map((step) => psqlOf(step, settings)).join("\n\n");
}

function psqlOf(step: LoadStep, settings: readonly string[]): string {
  switch (step.kind) {
    case "sql":
      return `${step.text};`;
    case "copy":
      return `\\copy ${step.into} FROM PROGRAM ${inQuotes(duckdbProgram(step.select, settings))}`;
    case "count":
      return `\\set rows \`${duckdbProgram(step.select, settings)}\`\nSELECT set_config('routewright.rows', :'rows', true);`;
  }
}

/** On one line, and within backquotes: psql ends a command with either. */
function duckdbProgram(select: string, settings: readonly string[]): string {
  if (/[`\n\r]/.test(select))
    throw new Error(
      "A name or path has a line break or a backquote, which psql cannot pass on: use --apply.",
    );
  // What a setting prints would become a row.
  const before = [".output /dev/null", ...settings, ".output"].map((text) => `-cmd ${inShell(text)}`);
  return `duckdb -noheader -list ${before.join(" ")} -c ${inShell(select)}`;
}

const inShell = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
const inQuotes = (text: string): string => `'${text.replaceAll("'", "''")}'`;
