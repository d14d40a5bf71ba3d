{{ config(materialized="ephemeral") }}

-- The ranges of the `in_ranges` endpoints, in days back from the last day of the data; null is everything.
select *
from (values ('1D', 1), ('7D', 7), ('30D', 30), ('90D', 90), ('All', null)) as ranges (range, days)
