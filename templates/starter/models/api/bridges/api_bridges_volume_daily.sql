select
  date,
  {{ usd("sum(inflow_usd)") }} as inflow_usd,
  {{ usd("sum(outflow_usd)") }} as outflow_usd,
  {{ usd("sum(inflow_usd + outflow_usd)") }} as volume_usd,
  sum(transfers)::bigint as transfers
from {{ ref("fct_bridge_flows_daily") }}
group by date
order by date
