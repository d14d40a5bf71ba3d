select
  {{ month_of("events.date") }} as month,
  merchants.country,
  merchants.category,
  count(*) as payments,
  count(distinct events.payer_id) as payers,
  {{ usd("sum(events.amount_native)") }} as spend_native,
  {{ usd("percentile_disc(0.5) within group (order by events.amount_native)") }} as median_native
from {{ ref("int_card_events") }} as events
inner join {{ ref("card_merchants") }} as merchants using (merchant_id)
where events.action = 'Payment'
group by 1, 2, 3
order by 1, 2, 3
