import { type Command, Option } from "commander";
import type { UsageFlags } from "../commands/usage.js";
import type { Then } from "./then.js";

export function addUsage(command: Command, then: Then): void {
  command
    .description("tell who called what, as the servers have written it into the database")
    .option("--since <date>", "first day, in UTC, such as 2026-01-31")
    .option("--key <id>", "one key, by its id or the beginning of it; none: callers without a key")
    .addOption(
      new Option("--by <subject>", "what a line is about").choices(["key", "route", "day"]).default("key"),
    )
    .option("--json", "print JSON", false)
    .action((flags: UsageFlags) => then(import("../commands/usage.js").then(({ usage }) => usage(flags))));
}
