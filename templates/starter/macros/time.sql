{#- Monday of the ISO week, the first day of the month. Dates in, dates out, whatever the time zone. -#}
{% macro week_of(day) -%} date_trunc('week', {{ day }}::timestamp)::date {%- endmacro %}
{% macro month_of(day) -%} date_trunc('month', {{ day }}::timestamp)::date {%- endmacro %}

{#- Midnight UTC at the start of a day. -#}
{% macro utc_midnight(day) -%} ({{ day }}::timestamp at time zone 'UTC') {%- endmacro %}
