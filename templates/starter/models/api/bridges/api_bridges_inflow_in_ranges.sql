-- Ether alone: its smallest unit is the wei.
select
  {{ utc_midnight("as_of.bridges_as_of") }} as d,
  ranges.range,
  flows.chain as source,
  flows.bridge as target,
  {{ uint64("sum(flows.inflow_raw)") }} as value,
  as_of.bridges_as_of as as_of_date
from {{ ref("dim_as_of") }} as as_of
cross join {{ ref("stg_ranges") }} as ranges
inner join {{ ref("fct_bridge_flows_daily") }} as flows
  on flows.token = 'WETH' and (ranges.days is null or flows.date > as_of.bridges_as_of - ranges.days)
group by 1, 2, 3, 4, ranges.days, as_of.bridges_as_of
order by ranges.days, 5 desc, 3, 4
