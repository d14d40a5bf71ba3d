-- Transfers per day, bridge, remote chain and token. Dollar sums leave out tokens that have no price.
select
  date,
  bridge,
  chain,
  token,
  count(*) as transfers,
  coalesce(sum(amount_raw) filter (where direction = 'inflow'), 0) as inflow_raw,
  coalesce(sum(amount_raw) filter (where direction = 'outflow'), 0) as outflow_raw,
  coalesce(sum(amount_usd) filter (where direction = 'inflow'), 0) as inflow_usd,
  coalesce(sum(amount_usd) filter (where direction = 'outflow'), 0) as outflow_usd
from {{ ref("int_bridge_transfers") }}
group by date, bridge, chain, token
order by date, bridge, chain, token
