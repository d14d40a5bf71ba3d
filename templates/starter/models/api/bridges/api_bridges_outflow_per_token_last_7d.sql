select
  {{ utc_midnight("as_of.bridges_as_of") }} as d,
  flows.token,
  flows.bridge as source,
  flows.chain as target,
  {{ uint64("sum(flows.outflow_raw)") }} as value,
  as_of.bridges_as_of as as_of_date
from {{ ref("dim_as_of") }} as as_of
inner join {{ ref("fct_bridge_flows_daily") }} as flows on flows.date > as_of.bridges_as_of - 7
group by 1, 2, 3, 4, 6
order by 2, 5 desc, 3, 4
