import { type Tier, TIERS } from "@routewright/runtime/model";
import { type Command, Option } from "commander";
import type { Then } from "./then.js";

interface KeyFlags {
  readonly file: string;
  readonly user: string;
  readonly tier: Tier;
  readonly org: string;
}

export function addKeys(command: Command, then: Then): void {
  const file = new Option("--file <file>", "the key file").env("API_KEYS_FILE").default("./api_keys.json");
  const load = () => import("../commands/keys.js");
  command.description("manage API keys, which are stored hashed");
  command
    .command("create")
    .description("make a key and print it, this once")
    .requiredOption("--user <name>", "who it is for")
    .addOption(new Option("--tier <tier>", "what it may call").choices(TIERS).makeOptionMandatory())
    .option("--org <name>", "the user's organization", "")
    .addOption(file)
    .action(({ file, ...owner }: KeyFlags) => then(load().then(({ createKey }) => createKey(file, owner))));
  command
    .command("list")
    .description("list the keys by id")
    .addOption(file)
    .action(({ file }: KeyFlags) => then(load().then(({ listKeys }) => listKeys(file))));
  command
    .command("revoke <id>")
    .description("remove a key")
    .addOption(file)
    .action((id: string, { file }: KeyFlags) => then(load().then(({ revokeKey }) => revokeKey(file, id))));
}
