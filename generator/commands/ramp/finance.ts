import { readFileSync } from "node:fs";
import { InvalidArgumentError } from "commander";
import { type Flags, type Group, text } from "./group.js";

const periodOf = (flags: Flags) => ({
  from: text(flags, "from") || null,
  until: text(flags, "until") || null,
});

/** `ramp report`, `ramp balances` and `ramp reconcile` (runtime/ramp/docs/finance.md). */
export function addFinance({ add, addForProject }: Group): void {
  const report = add(
    "report",
    "the journal by day, project, provider and currency",
    "--from 2026-06-01 --until 2026-07-01 --format csv",
    async ({ ramp, database }, flags) => {
      const project = text(flags, "project");
      const id = project === "" ? null : await ramp.findProject(database, project);
      if (id !== null && !id.ok) return id;
      const rows = await ramp.reportPostings(database, id?.value ?? null, periodOf(flags));
      if (!rows.ok || flags["format"] !== "csv") return rows;
      return { csv: ramp.csvOf(rows.value) };
    },
  )
    .option("--project <id>", "postings of this project")
    .option("--format <format>", "text or csv; --json prints JSON", formatOf, "text");
  const compare = addForProject(
    "reconcile",
    "compare a provider's statement with the ramp; exit 1 on differences",
    "--provider coinway --statement june.csv",
    ({ ramp, database }, id, flags) =>
      ramp
        .reconcile(database, id, {
          ...periodOf(flags),
          provider: text(flags, "provider"),
          statement: readFileSync(text(flags, "statement"), "utf8"),
        })
        .then((result) =>
          result.ok ? { ok: true, value: result.value.map((row) => ({ ok: false, ...row })) } : result,
        ),
  )
    .requiredOption("--provider <code>", "the provider's code")
    .requiredOption(
      "--statement <file>",
      "CSV with a column id and any of status, srcAmount, amountReceived, totalFee, refunded",
    );
  report
    .option("--from <time>", "postings at or after this time")
    .option("--until <time>", "postings before this time");
  compare
    .option("--from <time>", "payments at or after this time, by the provider's date where it names one")
    .option("--until <time>", "payments before this time");
  add(
    "balances",
    "what is on each account of the journal now, amounts under attention by their reason",
    "--json",
    async ({ ramp, database }, flags) => {
      const project = text(flags, "project");
      const id = project === "" ? null : await ramp.findProject(database, project);
      return id !== null && !id.ok ? id : ramp.listBalances(database, id?.value ?? null);
    },
  ).option("--project <id>", "accounts of this project");
}

function formatOf(given: string): string {
  if (given !== "text" && given !== "csv") throw new InvalidArgumentError("text or csv.");
  return given;
}
