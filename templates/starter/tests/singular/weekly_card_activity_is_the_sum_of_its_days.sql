with days as (
  select
    {{ week_of("date") }} as week,
    coalesce(action, 'Unclassified') as action,
    sum(activity_count) as activity_count
  from {{ ref("api_altchain_card_activity_by_action_daily") }}
  group by 1, 2
)

select week, action
from days
full join {{ ref("api_altchain_card_activity_by_action_weekly") }} as weeks using (week, action)
where days.activity_count is distinct from weeks.activity_count
