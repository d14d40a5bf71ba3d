select
  row_number() over (order by sum(events.amount_native) desc, merchants.merchant_id)::integer as rank,
  merchants.merchant,
  merchants.category,
  count(*) as payments,
  sum(events.amount_native)::numeric(14,2) as turnover_native,
  as_of.cards_as_of as as_of_date
from {{ ref("int_card_events") }} as events
cross join {{ ref("dim_as_of") }} as as_of
inner join {{ ref("card_merchants") }} as merchants using (merchant_id)
where events.action = 'Payment' and events.date > as_of.cards_as_of - 30
group by merchants.merchant_id, merchants.merchant, merchants.category, as_of.cards_as_of
order by 1
limit 10
