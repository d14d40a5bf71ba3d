{#- Every value is a whole number that fits an unsigned 64-bit integer. -#}
{% test unsigned_64_bit(model, column_name) %}
  select {{ column_name }}
  from {{ model }}
  where {{ column_name }} not between 0 and 18446744073709551615
    or {{ column_name }} <> trunc({{ column_name }})
{% endtest %}
