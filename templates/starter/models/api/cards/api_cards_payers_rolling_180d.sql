-- One row per month end that has 180 days of data behind it.
with payer_days as (
  select distinct date, payer_id
  from {{ ref("int_card_events") }}
  where action = 'Payment'
),

month_ends as (
  select max(date) as date
  from payer_days
  group by {{ month_of("date") }}
)

select
  month_ends.date,
  count(distinct payer_days.payer_id) as payers,
  (count(*)::numeric / count(distinct payer_days.payer_id))::real as days_per_payer
from month_ends
inner join payer_days on payer_days.date > month_ends.date - 180 and payer_days.date <= month_ends.date
where month_ends.date - 179 >= '{{ var("first_day") }}'::date
group by month_ends.date
order by month_ends.date
