{{ config(indexes=[{"columns": ["hour"]}, {"columns": ["date"]}]) }}

with hours as (
  select
    date,
    date_trunc('hour', block_time at time zone 'UTC') as utc_hour,
    direction,
    amount_usd
  from {{ ref("int_bridge_transfers") }}
)

select
  utc_hour at time zone 'UTC' as hour,
  date,
  count(*) filter (where direction = 'inflow') as inflow_transfers,
  count(*) filter (where direction = 'outflow') as outflow_transfers,
  {{ usd("sum(amount_usd)") }} as volume_usd
from hours
group by utc_hour, date
order by utc_hour
