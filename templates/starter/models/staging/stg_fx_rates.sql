-- US dollars for one unit of the card network's currency. No rate is published on closed days.
select
  calendar.date,
  case
    when closed.date is null
      then round((
        1.092 + 0.049 * calendar.year_share + 0.012 * ({{ noise("'fx:' || calendar.day_index") }} - 0.5)
      )::numeric, 5)
  end as usd_per_native
from {{ ref("stg_calendar_days") }} as calendar
left join {{ ref("fx_closed_days") }} as closed using (date)
