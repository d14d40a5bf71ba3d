-- Up Migration

-- Rails and their account fields come with the capabilities: those that were stored without them are read again at once.
SET LOCAL ramp.operator = 'on';
UPDATE ramp.provider_connections SET capabilities = capabilities || '{"rails": []}', capabilities_at = '-infinity'
WHERE NOT capabilities ? 'rails';
SET LOCAL ramp.operator = '';
