-- What each route carries on each day. Less leaves than comes in, so that no bridge ever pays out what it
-- does not hold and the net flow of a day stays an unsigned number.
with busy as (
  select
    routes.route_id,
    calendar.date,
    routes.route_id || ':' || calendar.day_index as route_day,
    trunc(
      routes.base_units
        * (1 + routes.yearly_growth * calendar.year_share)
        * calendar.bridge_weight
        * (0.78 + 0.44 * {{ noise("'busy:' || routes.route_id || ':' || calendar.day_index") }})::numeric
        * power(10::numeric, tokens.decimals)
    ) as deposit_raw
  from {{ ref("bridge_routes") }} as routes
  inner join {{ ref("bridges") }} as bridges using (bridge)
  inner join {{ ref("stg_tokens") }} as tokens using (token_id)
  inner join {{ ref("stg_calendar_days") }} as calendar on calendar.date >= bridges.launched_on
)

select
  route_id,
  date,
  route_day,
  deposit_raw,
  1 + floor(3 * {{ noise("'deposits:' || route_day") }})::integer as deposit_count,
  trunc(deposit_raw * (0.46 + 0.44 * {{ noise("'leaves:' || route_day") }})::numeric) as withdrawal_raw,
  1 + floor(2 * {{ noise("'withdrawals:' || route_day") }})::integer as withdrawal_count
from busy
