select calendar.date
from {{ ref("stg_calendar_days") }} as calendar
left join {{ ref("fct_bridge_flows_daily") }} as flows using (date)
where flows.date is null
