import { type Column, type Endpoint, atOtherPaths } from "../../core/model/endpoint.js";
import { Projection } from "../../core/model/projection.js";
import { ServedEndpoint } from "../../core/model/served-endpoint.js";
import type { LoadedRelease } from "../../core/handler/loaded-release.js";
import { declaredType, type EdmType, isLong } from "./edm-types.js";
import { propertyName, setName } from "./names.js";

/** A column as a property. */
export interface OdataProperty {
  readonly name: string;
  readonly column: Column;
  /** Null where the model does not say: the database does. */
  readonly type: EdmType | null;
}

/** An endpoint with rows as OData has it: an entity set, or without a proven key a function that returns a collection. */
export interface OdataSet {
  readonly name: string;
  /** As it answers at the path of the set. */
  readonly endpoint: ServedEndpoint;
  /** As requests are counted. */
  readonly counted: Endpoint;
  readonly properties: readonly OdataProperty[];
  /** Whether its rows are groups alone, which `$apply` asks for: the properties are groups and measures. */
  readonly isOfGroups: boolean;
  /** The properties that identify a row; null where none do. */
  readonly keys: readonly OdataProperty[] | null;
  /** The rows by the names of properties. */
  readonly rows: Projection;
  /** The same with long numbers as strings (`IEEE754Compatible`). */
  readonly exactRows: Projection;
}

/** Types of which a key may be (OData CSDL 4.01, 6.5). */
const NO_KEYS: ReadonlySet<string> = new Set(["Edm.Double", "Edm.Single", "Edm.Untyped"]);

const UNTYPED: EdmType = { name: "Edm.Untyped" };

/** The sets of a release by name; the latest version of a model has two. */
export function setsOf({ endpoints }: Pick<LoadedRelease, "endpoints">): ReadonlyMap<string, OdataSet> {
  const sets = [...endpoints.values()]
    .map(({ served }) => served)
    .filter(({ spec }) => columnsIn(spec).length > 0)
    .flatMap((served) => [setOf(served, served.spec), ...ofVersion(served)]);
  return new Map(sets.map((set) => [set.name, set]));
}

const isOfGroups = ({ aggregate }: Endpoint): boolean =>
  aggregate !== undefined && (aggregate.of === "metrics" || aggregate.rows === false);

const columnsIn = (spec: Endpoint): readonly Column[] =>
  isOfGroups(spec) ? (spec.aggregate?.columns ?? []) : spec.columns;

/** The set at the path of the latest version that stays. */
function ofVersion(served: ServedEndpoint): readonly OdataSet[] {
  const { spec } = served;
  const [first] = spec.versionPath === undefined ? [] : atOtherPaths(spec);
  return first === undefined ? [] : [setOf(new ServedEndpoint(first, served), spec)];
}

function setOf(endpoint: ServedEndpoint, counted: Endpoint): OdataSet {
  const { path, cursor } = endpoint.spec;
  const isGrouped = isOfGroups(endpoint.spec);
  const properties = columnsIn(endpoint.spec).map((column) => ({
    name: propertyName(column.name),
    column,
    // The database knows the columns of relations, and not those of groups.
    type: declaredType(column.type) ?? (isGrouped ? UNTYPED : null),
  }));
  const keyed = isGrouped ? undefined : cursor;
  const keys = keyed?.map((name) => properties.find(({ column }) => column.name === name)) ?? [];
  const proven = keys.filter(
    (key) => key !== undefined && !NO_KEYS.has(key.type?.name ?? "") && !key.type?.isCollection,
  );
  return {
    name: setName(path),
    endpoint,
    counted,
    properties,
    isOfGroups: isGrouped,
    keys: proven.length > 0 && proven.length === keys.length ? (proven as OdataProperty[]) : null,
    rows: projectionOf(properties, false),
    exactRows: projectionOf(properties, true),
  };
}

function projectionOf(properties: readonly OdataProperty[], isExact: boolean): Projection {
  return new Projection(
    properties.map(({ name, column, type }) => ({
      ...column,
      numbers: isExact ? ("string" as const) : ("number" as const),
      ...(type !== null && isLong(type) && { wide: true as const }),
      ...(name !== column.name && { as: name }),
    })),
  );
}
