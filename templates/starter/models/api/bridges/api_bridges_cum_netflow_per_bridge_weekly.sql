with weeks as (
  select {{ week_of("date") }} as date, bridge as series, sum(inflow_usd - outflow_usd) as netflow_usd
  from {{ ref("fct_bridge_flows_daily") }}
  group by 1, 2
)

select
  date,
  series,
  {{ usd("sum(netflow_usd) over (partition by series order by date)") }} as value
from weeks
order by date, series
