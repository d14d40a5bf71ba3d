{{ config(materialized="ephemeral") }}

-- Each day with how busy it is, 1 being an ordinary day: bridges live on weekdays, cards on Fridays and
-- Saturdays.
with days as (
  select generate_series(
    '{{ var("first_day") }}'::timestamp, '{{ var("last_day") }}'::timestamp, interval '1 day'
  )::date as date
)

select
  date,
  date - '{{ var("first_day") }}'::date as day_index,
  (date - '{{ var("first_day") }}'::date) / 364.0 as year_share,
  (array[1.06, 1.11, 1.13, 1.09, 1.03, 0.81, 0.77])[extract(isodow from date)::integer]
    * case when date between '2025-12-24' and '2026-01-02' then 0.72 else 1 end as bridge_weight,
  (array[0.92, 0.94, 0.97, 1.00, 1.16, 1.14, 0.87])[extract(isodow from date)::integer]
    * case when date between '2025-12-08' and '2025-12-24' then 1.18 else 1 end as card_weight
from days
