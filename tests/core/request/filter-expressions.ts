import fc from "fast-check";

/** Random expressions of `filter` with what they mean: a hand-written evaluator over rows, and SQL for PostgreSQL. */

export const COLUMNS = ["whole", "amount", "ratio", "day", "at", "label", "flag", "code"] as const;
export type Name = (typeof COLUMNS)[number];
type Part = "year" | "month" | "day" | "date";
type Sign = "eq" | "ne" | "gt" | "ge" | "lt" | "le";

/** A value as rows have it: null, or a text that both engines read. */
export type TestRow = Readonly<Record<Name, string | null>> & {
  readonly id: number;
  readonly org: string | null;
};

const UUIDS = ["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a12"];

const STORED: Readonly<Record<Name, readonly string[]>> = {
  whole: ["-9223372036854775808", "9223372036854775807", "0", "5", "-5", "7"],
  amount: ["0.0000", "0.0100", "10.0000", "-12.5000", "9999999999999999.9999", "10.0001"],
  ratio: ["0", "0.5", "-1.5", "1e300", "0.1", "NaN"],
  day: ["1970-01-01", "2024-02-29", "2024-03-01", "2023-12-31", "2025-01-01", "2024-03-31"],
  at: [
    ...["1970-01-01T00:00:00.000Z", "2024-02-29T23:59:59.999Z", "2024-03-01T00:00:00.000Z"],
    ...["2023-12-31T23:59:59.999Z", "2024-01-01T00:00:00.000Z", "2025-03-31T12:30:00.500Z"],
  ],
  label: ["a", "A", "a b", "%", "_", "O'Brien", "Ünï", "", "x\\y", "ab%_c", "中文"],
  flag: ["true", "false"],
  code: UUIDS,
};

const OTHERS: Readonly<Record<Name, readonly string[]>> = {
  whole: ["99999999999999999999", "-99999999999999999999", "6", "007"],
  amount: ["10", "1e1", "0.00005", "0.01000000000000000000001", "-1e30", "9999999999999999.99990"],
  ratio: ["1e400", "-1e400", "0.10", "2", "-0"],
  day: ["0001-01-01", "9999-12-31", "2024-03-02"],
  at: [
    ...["2024-03-01T05:30:00+05:30", "2024-02-29T23:59Z", "2024-02-29T23:59:59.9995Z"],
    ...["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "2024-02-29T23:59:59-00:30"],
  ],
  label: ["b", "'", "''", "BRIEN", "\\", "y", " ", "ï"],
  flag: [],
  code: ["A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11", "00000000-0000-0000-0000-000000000000"],
};

const PART_VALUES: Readonly<Record<Part, readonly string[]>> = {
  year: ["2024", "2023", "1970", "0", "-1", "99999999999999999999", "9999"],
  month: ["1", "2", "3", "12", "0", "13"],
  day: ["1", "29", "31", "15", "0"],
  date: ["2024-02-29", "2024-03-01", "1970-01-01", "9999-12-31", "0001-01-01"],
};

interface Subject {
  readonly column: Name;
  readonly part: Part | null;
}

export type TestExpression =
  | { readonly kind: "and" | "or"; readonly of: readonly TestExpression[] }
  | { readonly kind: "not"; readonly of: TestExpression }
  | (Subject & { readonly kind: "compare"; readonly sign: Sign; readonly value: string | null })
  | (Subject & { readonly kind: "in"; readonly values: readonly (string | null)[] })
  | { readonly kind: "text"; readonly test: "contains" | "startswith" | "endswith"; readonly value: string }
  | { readonly kind: "flag" };

/** Rows of random values, of two organizations and of none. */
export function randomRows(count: number, seed: number): readonly TestRow[] {
  const value = (name: Name) => fc.option(fc.constantFrom(...STORED[name]), { freq: 4 });
  const fields = Object.fromEntries(COLUMNS.map((name) => [name, value(name)])) as Record<
    Name,
    fc.Arbitrary<string | null>
  >;
  const row = fc.record({ ...fields, org: fc.constantFrom("acme", "globex", null) });
  return fc.sample(row, { numRuns: count, seed }).map((each, i) => ({ ...each, id: i + 1 }));
}

const isUnordered = (column: Name): boolean => column === "flag" || column === "code";

function leaf(): fc.Arbitrary<TestExpression> {
  const subject = fc.constantFrom(...COLUMNS).chain((column) => {
    const parts: (Part | null)[] =
      column === "day" || column === "at" ? [null, "year", "month", "day", "date"] : [null];
    return fc.constantFrom(...parts).map((part): Subject => ({ column, part }));
  });
  const valueOf = ({ column, part }: Subject) =>
    fc.option(
      fc.constantFrom(
        ...(part === null
          ? [...STORED[column], ...OTHERS[column]].filter((value) => value !== "NaN")
          : PART_VALUES[part]),
      ),
      {
        freq: 8,
      },
    );
  const compare = subject.chain((of) =>
    fc.record({
      kind: fc.constant("compare" as const),
      column: fc.constant(of.column),
      part: fc.constant(of.part),
      sign: fc.constantFrom<Sign>(...(isUnordered(of.column) ? (["eq", "ne"] as const) : SIGNS)),
      value: valueOf(of),
    }),
  );
  const list = subject.chain((of) =>
    fc.record({
      kind: fc.constant("in" as const),
      column: fc.constant(of.column),
      part: fc.constant(of.part),
      values: fc.array(valueOf(of), { minLength: 1, maxLength: 4 }),
    }),
  );
  const text = fc.record({
    kind: fc.constant("text" as const),
    test: fc.constantFrom("contains", "startswith", "endswith"),
    value: fc.constantFrom(...STORED.label, ...OTHERS.label),
  });
  return fc.oneof(
    { arbitrary: compare, weight: 6 },
    { arbitrary: list, weight: 2 },
    { arbitrary: text, weight: 2 },
    { arbitrary: fc.constant({ kind: "flag" } as const), weight: 1 },
  );
}

const SIGNS = ["eq", "ne", "gt", "ge", "lt", "le"] as const;

/** Expressions of up to `depth` levels. */
export function expressions(depth: number): fc.Arbitrary<TestExpression> {
  if (depth === 0) return leaf();
  const inner = expressions(depth - 1);
  const group = fc.record({
    kind: fc.constantFrom("and" as const, "or" as const),
    of: fc.array(inner, { minLength: 2, maxLength: 3 }),
  });
  const not = fc.record({ kind: fc.constant("not" as const), of: inner });
  return fc.oneof(
    { arbitrary: leaf(), weight: 2 },
    { arbitrary: group, weight: 3 },
    { arbitrary: not, weight: 1 },
  );
}

const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`;

/** The text that a request sends. */
export function textOf(expression: TestExpression): string {
  switch (expression.kind) {
    case "and":
    case "or":
      return expression.of.map((each) => `(${textOf(each)})`).join(` ${expression.kind} `);
    case "not":
      return `not (${textOf(expression.of)})`;
    case "text":
      return `${expression.test}(label, ${quoted(expression.value)})`;
    case "flag":
      return "flag";
    case "compare":
      return `${subjectText(expression)} ${expression.sign} ${literal(expression, expression.value)}`;
    case "in":
      return `${subjectText(expression)} in (${expression.values.map((each) => literal(expression, each)).join(",")})`;
  }
}

const subjectText = ({ column, part }: Subject): string => (part === null ? column : `${part}(${column})`);

const literal = ({ column }: Subject, value: string | null): string =>
  value === null ? "null" : column === "label" ? quoted(value) : value;

/** True, false or unknown, as OData has it. */
export function evaluate(expression: TestExpression, row: TestRow): boolean | null {
  switch (expression.kind) {
    case "and": {
      const values = expression.of.map((each) => evaluate(each, row));
      return values.includes(false) ? false : values.includes(null) ? null : true;
    }
    case "or": {
      const values = expression.of.map((each) => evaluate(each, row));
      return values.includes(true) ? true : values.includes(null) ? null : false;
    }
    case "not": {
      const value = evaluate(expression.of, row);
      return value === null ? null : !value;
    }
    case "text": {
      const { label } = row;
      if (label === null) return null;
      const { test, value } = expression;
      return test === "contains"
        ? label.includes(value)
        : test === "startswith"
          ? label.startsWith(value)
          : label.endsWith(value);
    }
    case "flag":
      return row.flag === null ? null : row.flag === "true";
    case "compare":
      return compares(expression, expression.sign, expression.value, row);
    case "in":
      return expression.values.some((value) => compares(expression, "eq", value, row));
  }
}

function compares(subject: Subject, sign: Sign, value: string | null, row: TestRow): boolean {
  // Responses show it as null.
  const own = row[subject.column] === "NaN" ? null : row[subject.column];
  if (own === null || value === null)
    return sign === "eq" ? own === value : sign === "ne" ? own !== value : false;
  const order = orderOf(subject, own, value);
  switch (sign) {
    case "eq":
      return order === 0;
    case "ne":
      return order !== 0;
    case "gt":
      return order > 0;
    case "ge":
      return order >= 0;
    case "lt":
      return order < 0;
    case "le":
      return order <= 0;
  }
}

function orderOf({ column, part }: Subject, own: string, value: string): number {
  if (part === "date") return signOf(own.slice(0, 10), value);
  if (part !== null) {
    const [year, month, day] = own.slice(0, 10).split("-").map(Number);
    return signOf({ year, month, day }[part] ?? 0, Number(value));
  }
  switch (column) {
    case "whole":
      return signOf(BigInt(own), BigInt(value));
    case "amount":
      return signOf(scaled(own), scaled(value));
    case "ratio":
      return signOf(Number(own), Number(value));
    case "at":
      return signOf(microseconds(own), microseconds(value));
    case "label":
      return Buffer.compare(Buffer.from(own), Buffer.from(value));
    case "code":
      return signOf(own.toLowerCase(), value.toLowerCase());
    case "day":
    case "flag":
      return signOf(own, value);
  }
}

const signOf = <T extends string | number | bigint>(a: T, b: T): number => (a < b ? -1 : a > b ? 1 : 0);

/** In units of 10^-30. */
function scaled(text: string): bigint {
  const [, sign = "", whole = "", fraction = "", exponent = "0"] =
    /^(-?)(\d+)(?:\.(\d+))?(?:e(-?\d+))?$/.exec(text) ?? [];
  const digits = BigInt(whole + fraction) * 10n ** BigInt(30 - fraction.length + Number(exponent));
  return sign === "-" ? -digits : digits;
}

function microseconds(text: string): bigint {
  const fraction = /\.(\d+)/.exec(text)?.[1] ?? "";
  const seconds = Date.parse(text.replace(/\.\d+/, "")) / 1000;
  return BigInt(seconds) * 1_000_000n + BigInt(fraction.padEnd(6, "0"));
}

/** A condition for PostgreSQL with the same meaning, which tells null by `IS DISTINCT FROM`. */
export function sqlOf(expression: TestExpression): string {
  switch (expression.kind) {
    case "and":
    case "or":
      return expression.of.map((each) => `(${sqlOf(each)})`).join(` ${expression.kind.toUpperCase()} `);
    case "not":
      return `NOT (${sqlOf(expression.of)})`;
    case "text": {
      const value = sqlText(expression.value);
      const length = `length(${value})`;
      if (expression.test === "contains") return `strpos(label, ${value}) > 0`;
      return `${expression.test === "startswith" ? "left" : "right"}(label, ${length}) = ${value}`;
    }
    case "flag":
      return "flag";
    case "compare":
      return sqlCompare(expression, expression.sign, expression.value);
    case "in":
      return expression.values.map((value) => `(${sqlCompare(expression, "eq", value)})`).join(" OR ");
  }
}

const sqlText = (text: string): string => `E'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;

const SQL_VALUES: Partial<Record<Name, string>> = { ratio: "nullif(ratio, 'NaN')::numeric" };

const SQL_SIGNS = { gt: ">", ge: ">=", lt: "<", le: "<=" } as const;

function sqlCompare(subject: Subject, sign: Sign, value: string | null): string {
  const { column, part } = subject;
  const type = part === "date" ? "date" : part !== null ? "numeric" : SQL_TYPES[column];
  const utc = column === "at" ? "(at AT TIME ZONE 'UTC')" : "day";
  const own =
    part === "date"
      ? `${utc}::date`
      : part !== null
        ? `extract(${part} FROM ${utc})`
        : (SQL_VALUES[column] ?? `${column}::${type}`);
  const given = `${value === null ? "NULL" : sqlText(value)}::${type}`;
  const collation = part === null && column === "label" ? ' COLLATE "C"' : "";
  if (sign === "eq") return `${own} IS NOT DISTINCT FROM ${given}`;
  if (sign === "ne") return `${own} IS DISTINCT FROM ${given}`;
  return `coalesce(${own} ${SQL_SIGNS[sign]} ${given}${collation}, false)`;
}

/** Numbers of any size and digits; a double beyond its range is an error of PostgreSQL. */
const SQL_TYPES: Readonly<Record<Name, string>> = {
  whole: "numeric",
  amount: "numeric",
  ratio: "numeric",
  day: "date",
  at: "timestamptz",
  label: "text",
  flag: "boolean",
  code: "uuid",
};
