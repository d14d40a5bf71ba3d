import { expect, it } from "vitest";
import { programFor } from "../../generator/cli.js";
import type { CliCommand } from "../../generator/commands/command.js";

/** Every command and subcommand of the command line. */
const { commands: names } = await programFor(undefined);
const commands = (await Promise.all(names.map((each) => programFor(each.name())))).flatMap((program, i) => {
  const command = program.commands[i]!;
  return [command, ...below(command)];
});

function below({ commands }: CliCommand): readonly CliCommand[] {
  return commands.flatMap((each) => [each, ...below(each)]);
}

function pathOf(command: CliCommand): string {
  return command.parent === null ? "" : `${pathOf(command.parent)} ${command.name()}`.trim();
}

/** The words of an example as a shell splits them, up to a redirection or comment. */
function words(example: string): string[] {
  const [line = ""] = example.split(/ [#<>|](?: |$)/);
  return [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? "");
}

/** The command that an example calls, and what follows its name. */
async function calledBy(example: string): Promise<{ command: CliCommand; args: readonly string[] }> {
  // A program of its own: a command keeps the flags that it has parsed.
  const args = words(example);
  let command = await programFor(args[0]);
  for (;;) {
    const next = command.commands.find((each) => each.name() === args[0]);
    if (next === undefined) return { command, args };
    command = next;
    args.shift();
  }
}

it("there are commands, and groups of them", () => {
  expect(commands.map(pathOf)).toEqual(
    expect.arrayContaining(["generate", "keys create", "ramp org create", "ramp webhook rotate-secret"]),
  );
});

it.each(commands.map((command) => [pathOf(command), command] as const))(
  "%s --help shows examples, which run as they stand, and exit codes",
  async (path, command) => {
    let help = "";
    command.configureOutput({ writeOut: (text) => (help += text) }).outputHelp();
    expect(help).toMatch(/\n\nExamples:\n(?: {2}\$ routewright .+\n)+\nExit codes:\n {2}0 {2}.+\n/);
    for (const example of command.examples) {
      const { command: called, args } = await calledBy(example);
      expect(`${pathOf(called)} `, example).toContain(`${path} `);
      const { operands, unknown } = called.parseOptions([...args]);
      expect(unknown, `${example}: flags that do not exist`).toEqual([]);
      const missing = called.options.filter(
        (option) => option.mandatory && called.getOptionValue(option.attributeName()) === undefined,
      );
      expect(
        missing.map(({ long }) => long),
        `${example}: flags that it needs`,
      ).toEqual([]);
      const required = called.registeredArguments.filter((argument) => argument.required).length;
      expect(operands.length, `${example}: arguments`).toBeGreaterThanOrEqual(required);
      expect(operands.length, `${example}: arguments`).toBeLessThanOrEqual(called.registeredArguments.length);
    }
  },
);
