select
  token_id,
  coalesce(symbol, contract_address) as token,
  symbol,
  contract_address,
  decimals,
  is_stablecoin,
  opening_price_usd,
  closing_price_usd,
  daily_limit_raw
from {{ ref("tokens") }}
