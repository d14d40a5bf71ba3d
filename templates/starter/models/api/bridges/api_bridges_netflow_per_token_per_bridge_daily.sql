with netflows as (
  select date, bridge, token, sum(inflow_raw - outflow_raw) as netflow_raw
  from {{ ref("fct_bridge_flows_daily") }}
  group by date, bridge, token
),

with_total as (
  select netflows.date, netflows.bridge, netflows.token, netflows.netflow_raw, bridges.bridge_order
  from netflows
  inner join {{ ref("bridges") }} as bridges using (bridge)
  union all
  select date, 'All', token, sum(netflow_raw), (select max(bridge_order) + 1 from {{ ref("bridges") }})
  from netflows
  group by date, token
)

select
  date,
  bridge,
  token,
  {{ uint64("netflow_raw") }} as value,
  {{ uint64("bridge_order") }} as bridge_order
from with_total
order by date, bridge_order, token
