{{ config(
    materialized="table",
    indexes=[
      {"columns": ["transfer_id"], "unique": true},
      {"columns": ["block_time", "transfer_id"]},
      {"columns": ["date"]},
      {"columns": ["transaction_hash"]},
    ],
) }}

-- Every transfer over a bridge, in or out of the home chain. Two draws make the hours peak around noon.
with located as (
  select
    amounts.*,
    routes.bridge,
    routes.chain,
    routes.token_id,
    {{ utc_midnight("amounts.date") }} + make_interval(secs => trunc(
      86399 * (0.6 * {{ noise("'clock:' || transfer_key") }} + 0.4 * {{ noise("'hand:' || transfer_key") }})
    )) as block_time
  from {{ ref("int_transfer_amounts") }} as amounts
  inner join {{ ref("bridge_routes") }} as routes using (route_id)
)

select
  row_number() over (order by located.block_time, located.transfer_key) as transfer_id,
  '0x' || md5('hash:' || transfer_key) || md5('tail:' || transfer_key) as transaction_hash,
  located.date,
  located.block_time,
  -- A few are held for review and never settle.
  case
    when {{ noise("'held:' || transfer_key") }} >= 0.002
      then located.block_time
        + make_interval(secs =>
          chains.finality_seconds + trunc(90 * {{ noise("'wait:' || transfer_key") }}))
  end as settles_at,
  located.bridge,
  located.direction,
  located.chain,
  tokens.token,
  tokens.decimals,
  located.amount_raw,
  (located.amount_raw::numeric(60,18) / power(10::numeric, tokens.decimals))::numeric(38,18) as amount,
  prices.price_usd,
  round(located.amount_raw * prices.price_usd / power(10::numeric, tokens.decimals), 2) as amount_usd,
  bridges.fee_bps,
  chains.is_evm,
  {{ noise("'relay:' || transfer_key") }} < 0.83 as is_relayed,
  1 + floor(12 * {{ noise("'relayer:' || transfer_key") }})::integer as relayer_id
from located
inner join {{ ref("bridges") }} as bridges using (bridge)
inner join {{ ref("chains") }} as chains using (chain)
inner join {{ ref("stg_tokens") }} as tokens using (token_id)
inner join {{ ref("stg_token_prices") }} as prices
  on prices.token_id = located.token_id and prices.date = located.date
order by transfer_id
