-- The day's total of a route cut into single transfers of uneven size.
with legs as (
  select
    route_id,
    date,
    route_day,
    'inflow' as direction,
    deposit_raw as total_raw,
    deposit_count as transfers
  from {{ ref("int_route_days") }}
  union all
  select route_id, date, route_day, 'outflow', withdrawal_raw, withdrawal_count
  from {{ ref("int_route_days") }}
),

parts as (
  select
    legs.*,
    legs.route_day || ':' || legs.direction || ':' || part as transfer_key
  from legs
  cross join lateral generate_series(1, legs.transfers) as part
),

weighed as (
  select parts.*, round((0.4 + {{ noise("'size:' || transfer_key") }})::numeric, 6) as weight
  from parts
)

select
  transfer_key,
  route_id,
  date,
  direction,
  trunc(total_raw * weight / sum(weight) over (partition by route_id, date, direction)) as amount_raw
from weighed
