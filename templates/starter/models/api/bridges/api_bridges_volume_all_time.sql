select
  {{ usd("sum(inflow_usd + outflow_usd)") }} as value,
  max(date) as as_of_date
from {{ ref("fct_bridge_flows_daily") }}
