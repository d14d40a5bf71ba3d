{{ config(materialized="table", indexes=[{"columns": ["date"]}]) }}

-- Every movement on a card. Regulars pay more often than others; cardholders grow in number all year.
with counts as (
  select
    calendar.date,
    calendar.day_index,
    actions.action_id,
    actions.action,
    actions.average_native,
    floor(
      actions.base_per_day * (1 + 1.15 * calendar.year_share) * calendar.card_weight
        * (0.9 + 0.2 * {{ noise("'cards:' || actions.action_id || ':' || calendar.day_index") }})::numeric
        + {{ noise("'odd:' || actions.action_id || ':' || calendar.day_index") }}::numeric
    )::integer as events
  from {{ ref("stg_calendar_days") }} as calendar
  cross join {{ ref("card_actions") }} as actions
),

events as (
  select counts.*, counts.action_id || ':' || counts.day_index || ':' || event as event_key
  from counts
  cross join lateral generate_series(1, counts.events) as event
)

select
  events.date,
  events.action,
  1 + floor(
    power({{ noise("'payer:' || event_key") }}, 1.6) * (800 + 5.2 * events.day_index)
  )::integer as payer_id,
  case
    when events.action in ('Payment', 'Reversal')
      then 1 + floor(24 * power({{ noise("'merchant:' || event_key") }}, 1.35))::integer
  end as merchant_id,
  amounts.amount_native,
  round(amounts.amount_native * rates.usd_per_native, 2) as amount_usd
from events
cross join lateral (
  -- Squaring the draw gives many small and a few large amounts around the average.
  select round(
    events.average_native * (0.2 + 2.4 * power({{ noise("'amount:' || event_key") }}, 2))::numeric, 2
  )
) as amounts (amount_native)
-- Movements of an unknown kind are not priced.
left join {{ ref("stg_fx_rates") }} as rates on rates.date = events.date and events.action is not null
