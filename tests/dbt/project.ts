import type { ProjectFiles } from "../support/dbt.js";

/** Rows of each build: all carry the number of the build that made them, the variable `n`. */
export const ROWS = 20;

const tags = (resource: string): string => `tags=['production', 'flows', 'api:${resource}']`;

/** One model of each kind, by the resource that it publishes; `history` is over a snapshot. */
export const SHOP: ProjectFiles = {
  "models/table.sql": `{{ config(materialized='table', ${tags("table")}) }}
    select i as id, {{ var('n') }} as n from generate_series(1, ${String(ROWS)}) i`,
  "models/above.sql": `{{ config(materialized='view', ${tags("view")}) }} select id, n from {{ ref('table') }}`,
  "models/log.sql": `{{ config(materialized='incremental', ${tags("incremental")}) }}
    select {{ var('n') }} as n, 'row' as word`,
  "models/stored.sql": `{{ config(materialized='materialized_view', ${tags("materialized")}) }}
    select id, n from {{ ref('table') }}`,
  "snapshots/past.sql": `{% snapshot past %}
    {{ config(target_schema=target.schema, unique_key='id', strategy='check', check_cols=['n']) }}
    select id, n from {{ ref('table') }}
    {% endsnapshot %}`,
  "models/history.sql": `{{ config(materialized='view', ${tags("history")}) }}
    select id, n from {{ ref('past') }} where dbt_valid_to is null`,
  "models/models.yml": JSON.stringify({
    models: ["table", "above", "stored", "history"].map((name) => ({
      name,
      columns: [
        { name: "id", data_type: "integer" },
        { name: "n", data_type: "integer" },
      ],
    })),
  }),
};

const merge = "engine='MergeTree()', order_by='n'";

/** The same in ClickHouse, where `overwritten` and `deleted` are rebuilt in place: by partition, and by deleting first. */
export const CLICKHOUSE_SHOP: ProjectFiles = {
  "models/table.sql": `{{ config(materialized='table', ${merge}, ${tags("table")}) }}
    select number + 1 as id, toInt32({{ var('n') }}) as n from numbers(${String(ROWS)})`,
  "models/above.sql": `{{ config(materialized='view', ${tags("view")}) }} select id, n from {{ ref('table') }}`,
  "models/log.sql": `{{ config(materialized='incremental', incremental_strategy='append', ${merge}, ${tags("incremental")}) }}
    select toInt32({{ var('n') }}) as n, 'row' as word`,
  "models/overwritten.sql": `{{ config(materialized='incremental', incremental_strategy='insert_overwrite', partition_by='id % 1', ${merge}, ${tags("overwritten")}) }}
    select number + 1 as id, toInt32({{ var('n') }}) as n from numbers(${String(ROWS)})`,
  "models/deleted.sql": `{{ config(materialized='incremental', incremental_strategy='delete_insert', unique_key='id', ${merge}, ${tags("deleted")}) }}
    select number + 1 as id, toInt32({{ var('n') }}) as n from numbers(${String(ROWS)})`,
};
