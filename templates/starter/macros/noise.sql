{#- A number in [0, 1) that looks random and depends on its key alone, on any PostgreSQL version:
    the first 32 bits of an MD5. -#}
{% macro noise(key) -%}
  (('x' || substr(md5({{ key }}), 1, 8))::bit(32)::bigint / 4294967296.0::double precision)
{%- endmacro %}
