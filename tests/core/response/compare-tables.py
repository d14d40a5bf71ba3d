"""Compares Parquet and Arrow files with the NDJSON of the same rows, value by value, as three libraries read them.

Arguments: folders that hold rows.ndjson, rows.parquet, rows.arrow and rows.arrows. Prints JSON: for each folder the
columns' types and what differs.
"""

import json
import re
import sys
from decimal import Decimal

import duckdb
import numpy
import polars
import pyarrow
import pyarrow.parquet


class Number(str):
    """A number of JSON with its digits."""


def parse(text):
    return json.loads(text, parse_int=Number, parse_float=Number)


def ticks(text, unit):
    """A date or time of JSON, in units since 1970."""
    sign, year, rest = re.fullmatch(r"([+-]?)(\d+)(-\d\d-\d\d.*)", text).groups()
    time = f"{'-' if sign == '-' else ''}{int(year):04d}{rest.removesuffix('Z')}"
    return int(numpy.datetime64(time, unit).astype("int64"))


def by_pyarrow(table):
    """Name, unit of time and values of each column."""
    for name, column in zip(table.column_names, table.columns):
        kind = column.type
        if pyarrow.types.is_date32(kind):
            yield name, "D", column.cast("int32").to_pylist()
        elif pyarrow.types.is_timestamp(kind):
            assert kind.tz == "UTC", kind
            yield name, kind.unit, column.cast("int64").to_pylist()
        else:
            yield name, None, column.to_pylist()


def by_polars(frame):
    for column in frame:
        if column.dtype == polars.Date:
            yield column.name, "D", column.to_physical().to_list()
        elif column.dtype == polars.Datetime:
            yield column.name, column.dtype.time_unit, column.to_physical().to_list()
        else:
            yield column.name, None, column.to_list()


def by_duckdb(relation):
    for name, kind in zip(relation.columns, map(str, relation.types)):
        quoted = '"' + name.replace('"', '""') + '"'
        unit, value = None, quoted
        if kind == "DATE":
            unit, value = "D", f"date_diff('day', DATE '1970-01-01', {quoted})"
        elif kind.startswith("TIMESTAMP"):
            unit, value = "us", f"epoch_us({quoted})"
        yield name, unit, [row[0] for row in relation.project(value).fetchall()]


# Columns of JSON documents, which are texts in a table.
DOCUMENTS = {"doc", "raw", "list", "texts", "floats", "map", "object"}


def is_same(name, expected, value, unit):
    if expected is None or value is None:
        return expected is value
    if name in DOCUMENTS:
        return parse(value) == expected
    if unit is not None:
        return ticks(expected, unit) == value
    if isinstance(value, bool):
        return expected is value
    if isinstance(value, float):
        return float(expected) == value or numpy.float32(expected) == numpy.float32(value)
    if isinstance(value, (int, Decimal)):
        return str(expected) == format(value, "f" if isinstance(value, Decimal) else "d")
    return expected == value


def differences(rows, columns):
    names = []
    for name, unit, values in columns:
        names.append(name)
        if len(values) != len(rows):
            yield f"{name}: {len(values)} of {len(rows)} rows"
        for i, (row, value) in enumerate(zip(rows, values)):
            if not is_same(name, row[name], value, unit):
                yield f"{name}, row {i}: {row[name]!r} is {value!r}"
    if rows and names != list(rows[0]):
        yield f"columns {names}"


def readings(folder):
    parquet = pyarrow.parquet.read_table(f"{folder}/rows.parquet")
    with pyarrow.ipc.open_file(f"{folder}/rows.arrow") as file:
        arrow = file.read_all()
    with pyarrow.ipc.open_stream(f"{folder}/rows.arrows") as stream:
        arrows = stream.read_all()
    assert arrow.schema.equals(arrows.schema), (arrow.schema, arrows.schema)
    for table in (parquet, arrow):
        table.validate(full=True)
    yield "pyarrow, Parquet", by_pyarrow(parquet), parquet.schema
    yield "pyarrow, Arrow", by_pyarrow(arrow), arrow.schema
    yield "pyarrow, Arrow stream", by_pyarrow(arrows), arrows.schema
    yield "polars, Parquet", by_polars(polars.read_parquet(f"{folder}/rows.parquet")), None
    yield "polars, Arrow", by_polars(polars.read_ipc(f"{folder}/rows.arrow")), None
    yield "polars, Arrow stream", by_polars(polars.read_ipc_stream(f"{folder}/rows.arrows")), None
    yield "DuckDB, Parquet", by_duckdb(duckdb.sql(f"FROM '{folder}/rows.parquet'")), None
    yield "DuckDB, Arrow", by_duckdb(duckdb.from_arrow(arrow)), None


def report(folder):
    with open(f"{folder}/rows.ndjson", encoding="utf-8", newline="\n") as file:
        rows = [parse(line) for line in file]
    found, types = [], {}
    for reader, columns, schema in readings(folder):
        found += [f"{reader}: {text}" for text in differences(rows, columns)]
        if schema is not None:
            types[reader] = {field.name: str(field.type) for field in schema}
    groups = pyarrow.parquet.ParquetFile(f"{folder}/rows.parquet").metadata.num_row_groups
    return {"rows": len(rows), "groups": groups, "types": types, "differences": found[:20]}


print(json.dumps([report(folder) for folder in sys.argv[1:]]))
