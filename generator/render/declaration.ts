import type { Endpoint, Parameter } from "@routewright/runtime/model";
import { type Literal, Properties } from "./code.js";

/** What a module declares of its endpoint, in the template's order; what has its default is left out. */
export function declarationOf(endpoint: Endpoint, order: readonly string[]): Properties {
  const values = declaredValues(endpoint);
  return new Properties(
    order.flatMap((name) => {
      if (!Object.hasOwn(values, name))
        throw new Error(`The template declares \`${name}\`, which no endpoint has.`);
      const value = values[name];
      return value === undefined ? [] : [[name, value] as const];
    }),
  );
}

function declaredValues(endpoint: Endpoint): Readonly<Record<string, Literal | undefined>> {
  const { legacy, parameters, pagination } = endpoint;
  return {
    model: endpoint.model,
    path: endpoint.path,
    tier: endpoint.tier,
    relation: endpoint.relation,
    columns: new Properties(endpoint.columns.map(({ name, type }) => [name, type])),
    methods: endpoint.methods.length > 1 ? endpoint.methods : undefined,
    parameters: legacy
      ? undefined
      : new Properties(parameters.map((item) => [item.name, parameterValue(item)])),
    allowUnfiltered: legacy ? undefined : endpoint.allowUnfiltered,
    requireAnyOf: unlessEmpty(endpoint.requireAnyOf),
    pagination: pagination === null ? undefined : new Properties(Object.entries(pagination)),
    sort: unlessEmpty(endpoint.sort),
    sortableFields: unlessEmpty(endpoint.sortableFields),
    deprecationDate: endpoint.deprecationDate ?? undefined,
    successor: endpoint.successor ?? undefined,
    upstreamNodes: endpoint.upstreamNodes ?? undefined,
  };
}

function unlessEmpty(list: readonly Literal[]): readonly Literal[] | undefined {
  return list.length === 0 ? undefined : list;
}

/** The name is the key already. */
function parameterValue(parameter: Parameter): Properties {
  return new Properties(Object.entries(parameter).filter(([key]) => key !== "name"));
}
