with routes as (
  select
    token_id,
    array_agg(distinct chain order by chain) as chains,
    array_agg(distinct bridge order by bridge) as bridges
  from {{ ref("bridge_routes") }}
  group by token_id
)

select
  tokens.token_id,
  tokens.symbol,
  tokens.contract_address,
  tokens.decimals::smallint as decimals,
  tokens.is_stablecoin,
  tokens.daily_limit_raw,
  routes.chains,
  jsonb_build_object('bridges', to_jsonb(routes.bridges), 'listed', tokens.symbol is not null) as listing,
  prices.price_usd
from {{ ref("stg_tokens") }} as tokens
inner join routes using (token_id)
cross join {{ ref("dim_as_of") }} as as_of
left join {{ ref("stg_token_prices") }} as prices
  on prices.token_id = tokens.token_id and prices.date = as_of.bridges_as_of
order by tokens.token_id
