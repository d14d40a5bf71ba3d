"""What dbt's `state:modified.contract` says of each model of two manifests, by dbt's own code.

Reads {"base": manifest, "head": manifest} and writes {unique_id: "breaking" | "modified"}; an unchanged contract is left out.
"""

import json
import sys

from dbt.adapters.factory import FACTORY, load_plugin
from dbt.contracts.graph.nodes import ModelNode
from dbt.exceptions import ContractBreakingChangeError


def model(unique_id: str, raw: dict) -> ModelNode:
    """The node as dbt has it; the tests' manifests leave out what Routewright does not read."""
    name, config = raw.get("name", ""), raw.get("config", {})
    node = ModelNode.from_dict(
        {
            "database": "d",
            "schema": "s",
            "package_name": "shop",
            "path": f"{name}.sql",
            "original_file_path": f"models/{name}.sql",
            "fqn": ["shop", name],
            "alias": name,
            "checksum": {"name": "sha256", "checksum": ""},
            "unique_id": unique_id,
            "name": name,
            "resource_type": "model",
            "columns": {key: {**column, "description": ""} for key, column in raw.get("columns", {}).items()},
            "constraints": raw.get("constraints", []),
            "contract": config.get("contract", {}),
            "config": {"materialized": config.get("materialized", "view"), "contract": config.get("contract", {})},
        }
    )
    # Of a versioned model a breaking change is an exception, of another one a warning.
    node.version = 1
    node.build_contract_checksum()
    return node


def verdict(before: ModelNode, after: ModelNode | None, adapter: str) -> str | None:
    try:
        same = before.same_contract_removed() if after is None else after.same_contract(before, adapter)
    except ContractBreakingChangeError:
        return "breaking"
    return None if same else "modified"


def models(manifest: dict) -> dict[str, ModelNode]:
    nodes = manifest["nodes"].items()
    return {key: model(key, node) for key, node in nodes if node["resource_type"] == "model"}


revisions = json.load(sys.stdin)
base, head = models(revisions["base"]), models(revisions["head"])
adapter = revisions["base"]["metadata"]["adapter_type"]
load_plugin(adapter)
# Only its constraints are read: the class serves, no connection is made.
FACTORY.adapters[adapter] = FACTORY.get_adapter_class_by_name(adapter)
verdicts = {key: verdict(node, head.get(key), adapter) for key, node in base.items()}
json.dump({key: found for key, found in verdicts.items() if found}, sys.stdout)
