import type { Difference } from "./change.js";
import { renamedParameters } from "./compare-parameters.js";
import type { Published } from "./snapshot.js";

/** Which descriptions differ: of the model, of its columns and parameters that both sides have. */
export function compareDocumentation(base: Published, head: Published): readonly Difference[] {
  const [was, is] = [base.documentation, head.documentation];
  if (was === null || is === null) return [];
  const renamed = renamedParameters(base.endpoint, head.endpoint);
  const parameters = base.endpoint.parameters.map(({ name }) => ({ name, now: renamed.get(name) ?? name }));
  const columns = namesIn(base.endpoint.columns, head.endpoint.columns);
  return [
    ...compareText(undefined, was.description, is.description),
    ...columns.flatMap((name) => compareText(`column ${name}`, was.columns.get(name), is.columns.get(name))),
    ...parameters
      .filter(({ now }) => head.endpoint.parameters.some(({ name }) => name === now))
      .flatMap(({ name, now }) =>
        compareText(`parameter ${name}`, was.parameters.get(name), is.parameters.get(now)),
      ),
  ];
}

interface Named {
  readonly name: string;
}

function namesIn(base: readonly Named[], head: readonly Named[]): readonly string[] {
  const names = new Set(head.map(({ name }) => name));
  return base.map(({ name }) => name).filter((name) => names.has(name));
}

/** White space at the ends is nothing that anybody reads. */
function compareText(subject: string | undefined, was = "", is = ""): readonly Difference[] {
  const [before, after] = [was.trim(), is.trim()];
  if (before === after) return [];
  return [
    {
      kind: "description-changed",
      ...(subject !== undefined && { subject }),
      ...(before !== "" && { before }),
      ...(after !== "" && { after }),
    },
  ];
}
