{{ config(indexes=[{"columns": ["date"]}]) }}

select
  date,
  action,
  {{ uint64("activity_count") }} as activity_count,
  {{ usd("volume_usd") }} as volume_usd,
  {{ usd("volume_native") }} as volume_native
from {{ ref("fct_card_activity_daily") }}
order by date, action
