{{ config(indexes=[{"columns": ["date", "bridge"]}]) }}

select
  date,
  bridge,
  {{ usd("sum(inflow_usd + outflow_usd)") }} as volume_usd,
  sum(transfers)::bigint as transfers,
  count(distinct chain)::integer as chains,
  (
    100 * sum(inflow_usd + outflow_usd) / sum(sum(inflow_usd + outflow_usd)) over (partition by date)
  )::numeric(5,2) as share_pct
from {{ ref("fct_bridge_flows_daily") }}
group by date, bridge
order by date, bridge
