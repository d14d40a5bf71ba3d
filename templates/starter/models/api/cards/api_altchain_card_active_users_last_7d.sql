with periods as (
  select
    as_of.cards_as_of as as_of_date,
    count(distinct payer_id) filter (where date > as_of.cards_as_of - 7)::numeric as value,
    count(distinct payer_id) filter (where date <= as_of.cards_as_of - 7)::numeric as prev_value
  from {{ ref("int_card_events") }}
  cross join {{ ref("dim_as_of") }} as as_of
  where action = 'Payment' and date > as_of.cards_as_of - 14
  group by as_of.cards_as_of
)

select
  value::double precision as value,
  {{ change_pct("value", "prev_value") }} as change_pct,
  as_of_date
from periods
