/** Raw JSON of a manifest, whose content the mutating test knows. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any
type Raw = any;

/** Changes a manifest here and there, the same way for the same seed; some models become invalid by it. */
export function mutated(manifest: Raw, seed: number): Raw {
  const random = generatorOf(seed);
  for (const node of Object.values<Raw>(manifest.nodes)) {
    if (node.resource_type !== "model" || !node.tags.includes("production")) continue;
    for (const change of CHANGES) if (random() < 0.12) change(node, random);
    if (node.config?.tags) node.config.tags = node.tags;
  }
  return manifest;
}

type Random = () => number;

/** A linear congruential generator: numbers from 0 to 1, the same on every machine. */
function generatorOf(seed: number): Random {
  let state = seed;
  return () => (state = (state * 1_103_515_245 + 12_345) % 2 ** 31) / 2 ** 31;
}

const TYPES = [
  "UInt8",
  "UInt64",
  "Int64",
  "Float64",
  "Float32",
  "String",
  "Nullable(String)",
  "Date",
  "DateTime",
  null,
];

const CHANGES: readonly ((node: Raw, random: Random) => void)[] = [
  (node, random) => (node.tags = retagged(node.tags, /^tier\d$/, `tier${String(Math.floor(random() * 4))}`)),
  (node, random) => random() < 0.3 && (node.tags = retagged(node.tags, /^granularity:/, "granularity:moved")),
  (node) => (node.schema = "elsewhere"),
  (node) => (node.description = `${String(node.description)} More.`),
  (node, random) => random() < 0.2 && (node.alias = `${String(node.name)}_v2`),
  (node, random) => random() < 0.2 && (node.name = `${String(node.name)}_v2`),
  (node) => Reflect.deleteProperty(node.columns, Object.keys(node.columns).at(-1) ?? ""),
  (node) => (node.columns.brand_new = { name: "brand_new", data_type: "String" }),
  (node, random) => {
    for (const column of Object.values<Raw>(node.columns)) column.data_type = pick(TYPES, random);
  },
  (node) => {
    for (const column of Object.values<Raw>(node.columns)) column.description = "Said anew.";
  },
  onApi((api) => (api.methods = api.methods?.includes("POST") ? ["GET"] : ["GET", "POST"])),
  onApi((api) => (api.allow_unfiltered = !api.allow_unfiltered)),
  onApi((api) => (api.require_any_of = namesOf(api).slice(0, 1))),
  onApi((api) => (api.require_any_of = namesOf(api))),
  onApi((api) => delete api.require_any_of),
  onApi((api) => (api.pagination = { enabled: true, default_limit: 7, max_limit: 77 })),
  onApi((api) => delete api.pagination),
  onApi((api) => api.pagination && (api.pagination.response = "envelope")),
  onApi((api) => api.pagination && (api.pagination.max_limit = 1_000_000)),
  onApi((api) => api.sort?.[0] && (api.sort[0].direction = "ASC")),
  onApi((api, node) => (api.sort ??= []).push({ column: Object.keys(node.columns)[0], direction: "ASC" })),
  onApi((api, node) => (api.sortable_fields = Object.keys(node.columns).slice(1, 3))),
  onParameter((parameter) => (parameter.name = `${String(parameter.name)}_new`)),
  onParameter((parameter) => (parameter.description = "Said anew.")),
  onParameter((parameter) => parameter.type === "string" && (parameter.case = "lower")),
  onParameter((parameter) => parameter.type === "string_list" && (parameter.max_items = 3)),
  onParameter((parameter) => parameter.type === "string_list" && delete parameter.max_items),
  onParameter((parameter) => parameter.operator === "=" && (parameter.operator = "ILIKE")),
  onParameter((parameter, node) => (parameter.column = Object.keys(node.columns)[0])),
  onApi((api) => api.parameters?.pop()),
];

function onApi(change: (api: Raw, node: Raw) => void): (node: Raw) => void {
  return (node) => {
    const api = node.config?.meta?.api;
    if (api) change(api, node);
  };
}

function onParameter(change: (parameter: Raw, node: Raw) => void): (node: Raw) => void {
  return onApi((api, node) => {
    const [parameter] = api.parameters ?? [];
    if (parameter) change(parameter, node);
  });
}

function namesOf(api: Raw): readonly string[] {
  return (api.parameters ?? []).map(({ name }: Raw) => name);
}

function retagged(tags: readonly string[], pattern: RegExp, tag: string): readonly string[] {
  return [...tags.filter((other) => !pattern.test(other)), tag];
}

function pick<T>(items: readonly T[], random: Random): T | undefined {
  return items[Math.floor(random() * items.length)];
}
