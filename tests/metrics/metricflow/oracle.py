"""The answers of MetricFlow. `oracle.py manifest.json dsn`: a request per line of stdin as `{metrics, group_by, where}`, an
answer per line of stdout as `{columns, rows}` with texts, or `{error}`. `{groups_of: metrics}`: `{groups}`, what they can be grouped by."""
import datetime
import json
import logging
import sys
import warnings

warnings.filterwarnings("ignore")
# MetricFlow logs a trace where an optimization fails, and goes on without it.
logging.disable(logging.CRITICAL)
import psycopg2
import psycopg2.extensions
from metricflow.engine.metricflow_engine import MetricFlowEngine, MetricFlowQueryRequest
from metricflow.protocols.sql_client import SqlEngine
from metricflow.sql.render.postgres import PostgresSQLSqlPlanRenderer
from metricflow_semantic_interfaces.references import MetricReference
from metricflow_semantics.model.dbt_manifest_parser import parse_manifest_from_dbt_generated_manifest
from metricflow_semantics.model.semantic_manifest_lookup import SemanticManifestLookup
from metricflow_semantics.model.semantics.element_filter import GroupByItemSetFilter
from metricflow_semantics.model.semantics.linkable_element import LinkableElementType

manifest_file, dsn = sys.argv[1:3]
with open(manifest_file) as file:
    manifest = json.load(file)


def relation(written):
    """Without the database: the tables may lie in another."""
    schema, alias = written["schema_name"], written["alias"]
    return {**written, "database": None, "relation_name": f'"{schema}"."{alias}"'}


def spine(node):
    name = node["time_spine"]["standard_granularity_column"]
    return {
        "node_relation": relation({"alias": node["alias"], "schema_name": node["schema"]}),
        "primary_column": {"name": name, "time_granularity": node["columns"][name]["granularity"]},
        "custom_granularities": node["time_spine"].get("custom_granularities") or [],
    }


def is_older_spine(node):
    """A model of this name is a spine of days where the project declares none."""
    return node["name"] == "metricflow_time_spine" and not node.get("time_spine")


def older_spine(node):
    return {"location": f'"{node["schema"]}"."{node["alias"]}"', "column_name": "date_day", "grain": "day"}


for model in manifest["semantic_models"].values():
    model["node_relation"] = relation(model["node_relation"])

version = {"major_version": "0", "minor_version": "0", "patch_version": "0"}
semantics = {
    "semantic_models": list(manifest["semantic_models"].values()),
    "metrics": list(manifest["metrics"].values()),
    "saved_queries": list(manifest["saved_queries"].values()),
    "project_configuration": {
        "time_spine_table_configurations": [older_spine(node) for node in manifest["nodes"].values() if is_older_spine(node)],
        "time_spines": [spine(node) for node in manifest["nodes"].values() if node.get("time_spine")],
        "metadata": None,
        "dsi_package_version": version,
    },
}


class Statements:
    """MetricFlow makes the statements; the driver below runs them and keeps every digit."""

    sql_engine_type = SqlEngine.POSTGRES
    sql_plan_renderer = PostgresSQLSqlPlanRenderer()

    def query(self, *args, **kwargs):
        raise NotImplementedError

    execute = dry_run = query

    def close(self):
        pass

    def render_bind_parameter_key(self, key):
        return f"%({key})s"


lookup = SemanticManifestLookup(parse_manifest_from_dbt_generated_manifest(json.dumps(semantics)))
engine = MetricFlowEngine(lookup, Statements())
connection = psycopg2.connect(dsn, options="-c timezone=UTC")
connection.autocommit = True
NUMBERS = (20, 21, 23, 700, 701, 1700)
digits = psycopg2.extensions.new_type(NUMBERS, "digits", lambda value, cursor: value)
psycopg2.extensions.register_type(digits, connection)


def text(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (datetime.date, datetime.datetime)):
        return value.isoformat()
    return value if value is None else str(value)


def groups_of(metrics):
    references = tuple(MetricReference(name) for name in metrics)
    every = GroupByItemSetFilter.create()
    found = lookup.metric_lookup.get_common_group_by_items(metric_references=references, set_filter=every)
    specs = [each.spec for each in found.annotated_specs if each.element_type is not LinkableElementType.METRIC]
    return {"groups": sorted({spec.dunder_name for spec in specs})}


def written(group):
    """A part of a date has no name of the dunder form in requests; the name of its time has one entity, a list those before it."""
    name, is_part, part = group.rpartition("__extract_")
    if not is_part:
        return group
    *path, entity, element = ["", *name.split("__")]
    own = f"{entity}__{element}" if entity else element
    return f"TimeDimension('{own}', date_part_name='{part}', entity_path={[each for each in path if each]})"


def answer(asked):
    if "groups_of" in asked:
        return groups_of(asked["groups_of"])
    request = MetricFlowQueryRequest.create(
        metric_names=asked["metrics"],
        group_by_names=[written(group) for group in asked["group_by"]],
        where_constraints=asked["where"] or None,
    )
    statement = engine.explain(request).sql_statement.without_descriptions.sql
    # An id of each conversion. Where a filter fixes the entity PostgreSQL joins by a nested loop, and makes the ids anew for each row of the base.
    statement = statement.replace("GEN_RANDOM_UUID()", "ROW_NUMBER() OVER ()")
    cursor = connection.cursor()
    cursor.execute(statement)
    columns = [column[0] for column in cursor.description]
    return {"columns": columns, "rows": [[text(value) for value in row] for row in cursor.fetchall()]}


for line in sys.stdin:
    try:
        result = answer(json.loads(line))
    except Exception as error:
        result = {"error": f"{type(error).__name__}: {error}"[:1000]}
    print(json.dumps(result), flush=True)
