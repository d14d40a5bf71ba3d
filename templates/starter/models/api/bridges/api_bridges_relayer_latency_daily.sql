-- For the operators' own dashboards: tagged like the others, kept out of the API by its metadata.
select
  date,
  bridge,
  percentile_disc(0.95) within group (order by settles_at - block_time) as p95_latency
from {{ ref("int_bridge_transfers") }}
where is_relayed
group by date, bridge
order by date, bridge
