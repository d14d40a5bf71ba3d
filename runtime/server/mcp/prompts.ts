import type { GetPromptResult } from "@modelcontextprotocol/server";
import { describedEndpoint, type ToolRequest } from "./describe.js";
import { refusal } from "./resources.js";

/** What a user may choose instead of writing it. */
export const PROMPTS = [
  {
    name: "answer_question",
    description: "Answer a question with data of this API.",
    arguments: [{ name: "question", description: "In plain English.", required: true }],
  },
  {
    name: "explore_endpoint",
    description: "Say what an endpoint holds, with examples that work.",
    arguments: [{ name: "path", description: "Path of the endpoint.", required: true }],
  },
] as const;

type PromptName = (typeof PROMPTS)[number]["name"];

const TEXTS: Readonly<Record<PromptName, (argument: string) => string>> = {
  answer_question: (question) => `Answer this question with the data API: ${question}

1. search_endpoints with words of the question; describe_endpoint of the best ones.
2. list_values of each column that you filter by: use values that exist, in their letter case.
3. Where the endpoint has an \`aggregate\`, sum and count with query_metrics instead of adding rows up; where it has none, chart_endpoint adds columns up by a column or a period. Else query_endpoint, filtered and sorted.
4. Name the path, the filters and the age of the data (data_as_of) beside the answer. Where no endpoint has the data, say so.`,
  explore_endpoint: (path) => `Say in a few sentences what ${path} holds.

1. The description below has its columns, parameters and filters.
2. summarize_endpoint for the number of rows and the range of dates; list_values for two or three columns that people would filter by.
3. query_endpoint for a few rows. Then suggest three questions that it answers, each with a request that works.`,
};

/** Refuses an unknown prompt and a missing argument. */
export function promptOf(
  tool: ToolRequest,
  name: string,
  given: Readonly<Record<string, string>> = {},
): GetPromptResult {
  const prompt = PROMPTS.find((each) => each.name === name);
  if (prompt === undefined)
    throw refusal(`Unknown prompt. There are: ${PROMPTS.map((each) => each.name).join(", ")}.`);
  const [{ name: argument }] = prompt.arguments;
  const value = given[argument]?.trim() ?? "";
  if (value === "") throw refusal(`The prompt needs the argument ${argument}.`);
  const text = (said: string) => ({ role: "user", content: { type: "text", text: said } }) as const;
  const { description } = prompt;
  if (prompt.name === "answer_question") return { description, messages: [text(TEXTS[prompt.name](value))] };
  const endpoint = tool.callable.endpoints.find(({ path }) => path === value);
  if (endpoint === undefined) throw refusal(`Your key can call no endpoint ${value}.`);
  const described = JSON.stringify(describedEndpoint(tool, endpoint));
  return { description, messages: [text(TEXTS[prompt.name](value)), text(described)] };
}
