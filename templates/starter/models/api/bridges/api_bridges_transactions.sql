{{ config(materialized="view") }}

-- A view: filters, order and limit reach the indexes of the transfers. A transfer that settles after the
-- last day of the data is still under way.
select
  transfers.transfer_id,
  transfers.transaction_hash,
  transfers.date,
  transfers.block_time,
  case
    when transfers.settles_at < {{ utc_midnight("'" ~ var("last_day") ~ "'") }} + interval '1 day'
      then transfers.settles_at
  end as settled_at,
  transfers.bridge,
  transfers.direction,
  case transfers.direction
    when 'inflow' then transfers.chain else '{{ var("home_chain") }}'
  end as source_chain,
  case transfers.direction
    when 'inflow' then '{{ var("home_chain") }}' else transfers.chain
  end as target_chain,
  case
    when transfers.is_evm then array[transfers.chain, '{{ var("home_chain") }}']
    else array[transfers.chain, 'ethereum', '{{ var("home_chain") }}']
  end as chains,
  case when transfers.is_evm then 1 else 2 end as hops,
  transfers.token,
  transfers.amount_raw::numeric(20,0) as amount_raw,
  transfers.amount,
  transfers.price_usd,
  transfers.amount_usd::double precision as amount_usd,
  round(transfers.amount_usd * transfers.fee_bps / 10000, 2)::numeric(18,2) as fee_usd,
  transfers.is_relayed,
  jsonb_build_object(
    'fee_bps', transfers.fee_bps,
    'relayer', case when transfers.is_relayed then 'relayer-' || transfers.relayer_id end
  ) as details
from {{ ref("int_bridge_transfers") }} as transfers
