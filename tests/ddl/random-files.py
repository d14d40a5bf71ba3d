"""Writes Parquet files of random schemas and values, and compares what is served with what was written.

write <folder> <seed> <count>: m<i>.parquet and models.json
check <folder> <outcomes.json>: prints what differs as JSON
"""
import datetime as d, json, random, sys, uuid
from decimal import Decimal as D
import pyarrow as pa, pyarrow.parquet as pq

UTC = d.timezone.utc
INTS = {f"{u}int{b}": (0 if u else -(2 ** (b - 1)), 2 ** b - 1 if u else 2 ** (b - 1) - 1) for u in ("", "u") for b in (8, 16, 32, 64)}
# Of others PostgreSQL's served type holds more: a `smallint` for a `UTINYINT`.
DECLARED_INTS = ["SMALLINT", "INTEGER", "BIGINT"]


def some(r, make, nulls=True):
    return [None if nulls and r.random() < 0.2 else make() for _ in range(r.randint(0, 6))]


def whole(r, low, high):
    edges = [v for v in (low, high, 0, 1, -1, 127, 128, 255, 32767, 65535, 2**31 - 1, 2**31, 2**53, 2**53 + 1, 2**63 - 1) if low <= v <= high]
    return r.choice(edges) if r.random() < 0.3 else r.randint(max(low, -100), min(high, 100)) if r.random() < 0.6 else r.randint(low, high)


def decimal(r, precision, scale):
    digits = r.randint(0, precision)
    return D(r.choice([-1, 1]) * r.randint(0, 10**digits - 1)).scaleb(-scale)


def exact(r):
    """A number of the file, for a declared number."""
    kind = r.choice(["int", "int", "decimal", "float"])
    if kind == "int":
        name = r.choice(list(INTS))
        return getattr(pa, name)(), lambda: whole(r, *INTS[name])
    if kind == "decimal":
        precision = r.randint(1, 38)
        scale = r.randint(0, precision)
        return pa.decimal128(precision, scale), lambda: decimal(r, precision, scale)
    return pa.float64(), lambda: r.choice([float(r.randint(-1000, 1000)), r.randint(-99, 99) / 4, r.uniform(-1, 1), 2.0**53, float("inf")]) if r.random() < 0.4 else float(r.randint(-100, 100))


def moment(r):
    return d.datetime(r.randint(1900, 2261), r.randint(1, 12), r.randint(1, 28), r.randint(0, 23), r.randint(0, 59), r.randint(0, 59), r.choice([0, 0, 678000, 678901]))


def text(r):
    return "".join(r.choice(["a", "Ä", "\t", "\n", "\\", '"', "'", "😀", "N", "{", ",", " ", "\r"]) for _ in range(r.randint(0, 8)))


def column(r):
    """Declared type, type of the file, and a maker of values."""
    kind = r.choice(["number", "number", "number", "double", "text", "boolean", "date", "timestamp", "time", "null", "list", "uuid", "bytes"])
    if kind == "number":
        precision = r.randint(1, 38)
        declared = r.choice(DECLARED_INTS + [f"DECIMAL({precision},{r.randint(0, precision)})"] * 4)
        return (declared, *exact(r))
    if kind == "double":
        return (r.choice(["DOUBLE", "DOUBLE", "FLOAT"]), *(exact(r) if r.random() < 0.6 else (pa.float32(), lambda: r.randint(-1000, 1000) / 8)))
    if kind == "text":
        return "VARCHAR", r.choice([pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())]), lambda: text(r)
    if kind == "boolean":
        if r.random() < 0.7:
            return "BOOLEAN", pa.bool_(), lambda: r.random() < 0.5
        return "BOOLEAN", r.choice([pa.int8(), pa.int32(), pa.uint8()]), lambda: r.choice([0, 1, 0, 1, 0, 1, 2])
    if kind == "date":
        if r.random() < 0.6:
            return "DATE", r.choice([pa.date32(), pa.date64()]), lambda: moment(r).date()
        return "DATE", pa.timestamp("us"), lambda: moment(r).replace(hour=0, minute=0, second=0, microsecond=0) if r.random() < 0.8 else moment(r)
    if kind == "timestamp":
        if r.random() < 0.15:
            return "TIMESTAMP", pa.date32(), lambda: moment(r).date()
        unit, zone = r.choice(["s", "ms", "us", "ns"]), r.choice([None, "UTC", "Europe/Berlin"])
        cut = lambda m: m.replace(microsecond=0 if unit == "s" else m.microsecond // 1000 * 1000 if unit == "ms" else m.microsecond)
        return r.choice(["TIMESTAMP", "TIMESTAMP WITH TIME ZONE"]), pa.timestamp(unit, zone), lambda: cut(moment(r)).replace(tzinfo=UTC if zone else None)
    if kind == "time":
        return "TIME", pa.time64("us"), lambda: moment(r).time()
    if kind == "null":
        return r.choice(["DATE", "VARCHAR", "INTEGER", "DECIMAL(10,2)", "TIMESTAMP", "BOOLEAN", "UUID"]), pa.null(), lambda: None
    if kind == "list":
        item = r.choice(["number", "text"])
        if item == "text":
            return "VARCHAR[]", pa.list_(pa.string()), lambda: some(r, lambda: text(r))
        declared = r.choice(["BIGINT", "INTEGER", "DECIMAL(12,3)", "DOUBLE"])
        kind, make = exact(r)
        return declared + "[]", pa.list_(kind), lambda: some(r, make)
    if kind == "uuid":
        return "UUID", pa.string(), lambda: str(uuid.UUID(int=r.getrandbits(128))) if r.random() < 0.9 else r.choice(["", "x"])
    return "VARCHAR", pa.binary(), lambda: text(r).encode()


def canonical(value, declared):
    """The text of a value as rows have it."""
    if value is None:
        return None
    if declared.endswith("[]"):
        return [canonical(v, declared[:-2]) for v in value]
    if declared == "BOOLEAN":
        return bool(value)
    if declared in ("DOUBLE", "FLOAT"):
        number = float(value)
        return number if abs(number) < float("inf") else None
    if declared.startswith("DECIMAL") or declared.endswith("INT") or declared.endswith("INTEGER"):
        return format(D(value).normalize(), "f") if D(value) != 0 else "0"
    if isinstance(value, bytes):
        return value.decode()
    if declared == "DATE":
        return str(value)[:10]
    if declared.startswith("TIMESTAMP"):
        if isinstance(value, str):
            return (value if "T" in value else value + "T00:00:00").removesuffix("Z").removesuffix("+00:00")
        return value.replace(tzinfo=None).isoformat() if isinstance(value, d.datetime) else f"{value}T00:00:00"
    return str(value)


def plain(value):
    """Without zeros behind the second, and without a zone."""
    if isinstance(value, list):
        return [plain(v) for v in value]
    if isinstance(value, str) and len(value) > 8 and "." in value and ":" in value:
        return value.rstrip("0").rstrip(".")
    if isinstance(value, str) and value.startswith(tuple("0123456789")) and value.count(":") == 2 and "." in value:
        return value.rstrip("0").rstrip(".")
    return value


def write(folder, seed, count):
    r = random.Random(seed)
    models = []
    for i in range(count):
        columns = [column(r) for _ in range(r.randint(1, 5))]
        rows = r.randint(0, 12)
        values = [[None if r.random() < 0.15 and not pa.types.is_list(kind) else make() for _ in range(rows)] for _, kind, make in columns]
        names = [f"c{n}" for n in range(len(columns))]
        table = pa.table({"id": pa.array(range(rows), pa.int64()), **{name: pa.array(v, kind) for name, v, (_, kind, _) in zip(names, values, columns)}})
        writer = r.choice(["pyarrow", "duckdb", "polars", "spark"])
        file = f"{folder}/m{i}.parquet"
        has = lambda test: any(test(kind) for _, kind, _ in columns)
        # Polars writes times of day in nanoseconds, which DuckDB does not read.
        if writer == "polars" and not has(pa.types.is_time):
            import polars
            polars.from_arrow(table).write_parquet(file, row_group_size=5)
        elif writer == "duckdb" and not has(pa.types.is_null):
            import duckdb
            duckdb.sql("SET TimeZone = 'UTC'")
            duckdb.sql("SELECT * FROM \"table\"").write_parquet(file)
        elif writer == "spark":
            pq.write_table(table, file, use_deprecated_int96_timestamps=True, store_decimal_as_integer=True, row_group_size=3, compression="snappy")
        else:
            pq.write_table(table, file, row_group_size=4)
        declared = {"id": "BIGINT", **{name: type for name, (type, _, _) in zip(names, columns)}}
        expected = [[canonical(v, type) if _fits(v, type) else {"refused": str(v)} for v in column_values] for column_values, (type, _, _) in zip(values, columns)]
        models.append({"name": f"m{i}", "columns": declared, "expected": expected, "files": [str(kind) for _, kind, _ in columns], "writer": writer})
    json.dump(models, open(f"{folder}/models.json", "w"))


def _fits(value, declared):
    """Whether a value can be shown at all: what is not finite is no number of a decimal."""
    try:
        canonical(value, declared)
        return True
    except Exception:
        return False


def check(folder, outcomes):
    models = json.load(open(f"{folder}/models.json"))
    found = json.load(open(outcomes))
    differ, loaded, refused = [], 0, 0
    for model in models:
        name = model["name"]
        by = {engine: each[name] for engine, each in found.items()}
        if len({each["loaded"] for each in by.values()}) > 1:
            differ.append([name, "loaded by one only", by, model["columns"], model["files"], model["writer"]])
            continue
        if not any(each["loaded"] for each in by.values()):
            refused += 1
            continue
        loaded += 1
        for engine, each in by.items():
            rows = [json.loads(line, parse_float=D, parse_int=D) for line in each["rows"].split("\n") if line]
            rows.sort(key=lambda row: row["id"])
            for n, (column, type) in enumerate(list(model["columns"].items())[1:]):
                served = [plain(canonical(row[column], type)) for row in rows]
                wanted = [plain(v) for v in model["expected"][n]]
                if served != wanted:
                    differ.append([name, engine, column, type, model["files"][n], model["writer"], served, wanted])
    print(json.dumps({"loaded": loaded, "refused": refused, "differ": differ}, default=str))


if sys.argv[1] == "write":
    write(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
else:
    check(sys.argv[2], sys.argv[3])
