select
  bridges.bridge,
  bridges.title,
  bridges.operator,
  bridges.launched_on,
  bridges.is_audited,
  bridges.fee_bps,
  array_agg(distinct routes.chain order by routes.chain) as chains,
  as_of.bridges_as_of as as_of_date
from {{ ref("bridges") }} as bridges
inner join {{ ref("bridge_routes") }} as routes using (bridge)
cross join {{ ref("dim_as_of") }} as as_of
group by bridges.bridge, bridges.title, bridges.operator, bridges.launched_on, bridges.is_audited,
  bridges.fee_bps, bridges.bridge_order, as_of.bridges_as_of
order by bridges.bridge_order
