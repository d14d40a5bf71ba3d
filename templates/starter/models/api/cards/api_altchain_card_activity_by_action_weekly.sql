select
  {{ week_of("date") }} as week,
  coalesce(action, 'Unclassified') as action,
  {{ uint64("sum(activity_count)") }} as activity_count,
  {{ usd("sum(volume_usd)") }} as volume_usd,
  {{ usd("sum(volume_native)") }} as volume_native
from {{ ref("fct_card_activity_daily") }}
group by 1, 2
order by 1, 2
