{#- US dollars to the cent, as the float64 that API rows carry. -#}
{% macro usd(amount) -%} round(({{ amount }})::numeric, 2)::double precision {%- endmacro %}

{#- An unsigned 64-bit integer: PostgreSQL has none, twenty digits hold it. -#}
{% macro uint64(amount) -%} ({{ amount }})::numeric(20,0) {%- endmacro %}

{#- Change against the previous value in percent, two decimals; null with nothing to compare with. -#}
{% macro change_pct(value, previous) -%}
  round(100 * ({{ value }} - {{ previous }}) / nullif({{ previous }}, 0), 2)::double precision
{%- endmacro %}
