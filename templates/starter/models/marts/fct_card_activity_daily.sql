{{ config(materialized="incremental", incremental_strategy="append") }}

-- Card movements per day and action. A run adds the days that are not there yet.
select
  date,
  action,
  count(*) as activity_count,
  sum(amount_usd) as volume_usd,
  sum(amount_native) as volume_native
from {{ ref("int_card_events") }}
{% if is_incremental() %}
where date > (select max(date) from {{ this }})
{% endif %}
group by date, action
order by date, action
