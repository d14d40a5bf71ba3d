-- The home chain takes part in every transfer.
select
  {{ uint64("count(distinct chain) + 1") }} as value,
  max(date) as as_of_date
from {{ ref("fct_bridge_flows_daily") }}
