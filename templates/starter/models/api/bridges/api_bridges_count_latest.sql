select
  {{ uint64("count(distinct bridge)") }} as value,
  max(date) as as_of_date
from {{ ref("fct_bridge_flows_daily") }}
