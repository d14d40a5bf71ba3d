-- One price per token and day: a drift from the opening to the closing price with a daily wobble, a narrow
-- one for stablecoins. A token without a listing has no price.
select
  calendar.date,
  tokens.token_id,
  round(
    (opening_price_usd + (closing_price_usd - opening_price_usd) * calendar.year_share)
      * (1 + (({{ noise("'price:' || tokens.token_id || ':' || calendar.day_index") }} - 0.5)
        * case when tokens.is_stablecoin then 0.0016 else 0.06 end)::numeric),
    6
  )::numeric(18,6) as price_usd
from {{ ref("stg_calendar_days") }} as calendar
cross join {{ ref("stg_tokens") }} as tokens
