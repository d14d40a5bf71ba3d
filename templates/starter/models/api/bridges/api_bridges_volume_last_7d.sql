with periods as (
  select
    as_of.bridges_as_of as as_of_date,
    round(sum(inflow_usd + outflow_usd) filter (where date > as_of.bridges_as_of - 7), 2) as value,
    round(sum(inflow_usd + outflow_usd) filter (where date <= as_of.bridges_as_of - 7), 2) as prev_value
  from {{ ref("fct_bridge_flows_daily") }}
  cross join {{ ref("dim_as_of") }} as as_of
  where date > as_of.bridges_as_of - 14
  group by as_of.bridges_as_of
)

select
  value::double precision as value,
  prev_value::double precision as prev_value,
  {{ change_pct("value", "prev_value") }} as change_pct,
  as_of_date
from periods
