-- The last day of each subject's data, which every snapshot reports.
select
  (select max(date) from {{ ref("fct_bridge_flows_daily") }}) as bridges_as_of,
  (select max(date) from {{ ref("fct_card_activity_daily") }}) as cards_as_of
