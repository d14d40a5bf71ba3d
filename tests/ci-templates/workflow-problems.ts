/**
 * Reads a JSON list of GitHub workflows from standard input and prints, for each, the problems that GitHub's own parser
 * finds with the workflow schema that it publishes. Run by tsx: the parser imports JSON in a way that Node by itself
 * refuses.
 */
import { readFileSync } from "node:fs";
import { convertWorkflowTemplate, NoOperationTraceWriter, parseWorkflow } from "@actions/workflow-parser";
import { ErrorPolicy } from "@actions/workflow-parser/model/convert";

const contents = JSON.parse(readFileSync(0, "utf8")) as string[];
process.stdout.write(JSON.stringify(await Promise.all(contents.map(problemsOf))));

async function problemsOf(content: string): Promise<readonly string[]> {
  const { context, value } = parseWorkflow({ name: "workflow.yml", content }, new NoOperationTraceWriter());
  const found = context.errors.getErrors();
  if (value === undefined || found.length > 0) return found.map(({ message }) => message);
  const options = { errorPolicy: ErrorPolicy.TryConversion };
  const { errors = [] } = await convertWorkflowTemplate(context, value, undefined, options);
  return errors.map(({ Message }) => Message);
}
