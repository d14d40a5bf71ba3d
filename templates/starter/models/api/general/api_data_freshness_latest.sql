with subjects as (
  select 'bridge transfers' as dataset, date from {{ ref("int_bridge_transfers") }}
  union all
  select 'card events', date from {{ ref("int_card_events") }}
)

select
  dataset,
  count(*) as row_count,
  min(date) as first_date,
  max(date) as as_of_date,
  count(distinct date) = max(date) - min(date) + 1 as is_gapless
from subjects
group by dataset
order by dataset
