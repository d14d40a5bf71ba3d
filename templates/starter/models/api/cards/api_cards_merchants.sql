select
  merchants.merchant_id,
  merchants.merchant,
  merchants.category,
  merchants.country,
  merchants.is_online,
  count(events.date) as payments,
  sum(events.amount_native)::numeric(14,2) as turnover_native,
  max(events.date) as last_paid_on
from {{ ref("card_merchants") }} as merchants
left join {{ ref("int_card_events") }} as events
  on events.merchant_id = merchants.merchant_id and events.action = 'Payment'
group by merchants.merchant_id, merchants.merchant, merchants.category, merchants.country, merchants.is_online
order by merchants.merchant_id
