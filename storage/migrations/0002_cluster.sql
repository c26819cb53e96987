-- Several nodes on one cell: what is fixed for a cell's life, what nodes say of themselves, when an
-- account became free, and accounts that nobody should try to log in to for now.

CREATE TABLE cells (
  cell                text     PRIMARY KEY,
  -- Which partition a key belongs to depends on it: changed only with all nodes stopped and lag 0.
  -- Null until the first node asks.
  partitions          integer  CHECK (partitions BETWEEN 1 AND 10000),
  -- Rises with every change of accounts or links, so that nodes see one by reading one number.
  directory_version   bigint   NOT NULL DEFAULT 0
);

ALTER TABLE nodes
  -- `host:port` of the node's HTTP, null where it serves none.
  ADD COLUMN address    text,
  ADD COLUMN capacity   integer     NOT NULL DEFAULT 0 CHECK (capacity >= 0),
  ADD COLUMN platforms  text[]      NOT NULL DEFAULT '{mt4,mt5}',
  ADD COLUMN started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- Since when this boot has been live without a break.
  ADD COLUMN live_since timestamptz NOT NULL DEFAULT clock_timestamp();

ALTER TABLE trading_accounts
  -- Not free before this moment: when it was put in, given back, or enabled or unparked again.
  ADD COLUMN freed_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- Its broker refuses the login: nobody tries again until the account is applied anew.
  ADD COLUMN parked_reason text,
  ADD COLUMN parked_at     timestamptz;
