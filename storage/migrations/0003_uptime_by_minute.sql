-- Minutes of nodes that are long gone are found without reading those of all others.

CREATE INDEX node_uptime_minute ON node_uptime (cell, minute);
