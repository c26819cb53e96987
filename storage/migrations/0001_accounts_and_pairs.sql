-- Nodes, accounts, links and the rows of copied trades.
--
-- Every table carries the cell in its key: cells share a database and never touch each other's rows.
-- Tickets, volumes (1e-8 lots) and prices (points) are bigint; times of the Registry are the
-- database's own, all others say in their name whose clock they are.

CREATE TABLE nodes (
  cell         text        NOT NULL,
  node         text        NOT NULL,
  boot         text        NOT NULL,
  lease_until  timestamptz NOT NULL,
  -- Whether this boot's lease was still live when its latest renewal had the row.
  was_live     boolean     NOT NULL DEFAULT false,
  -- The boot that left for good: no late renewal of it brings the lease back.
  ended_boot   text,
  accepting    boolean     NOT NULL DEFAULT true,
  log_ok       boolean     NOT NULL DEFAULT true,
  PRIMARY KEY (cell, node)
);

CREATE TABLE trading_accounts (
  cell             text        NOT NULL,
  id               text        NOT NULL,
  role             text        NOT NULL CHECK (role IN ('master', 'follower')),
  platform         text        NOT NULL CHECK (platform IN ('mt4', 'mt5')),
  broker           text        NOT NULL,
  login            bigint      NOT NULL CHECK (login >= 0),
  credentials_ref  text        NOT NULL,
  enabled          boolean     NOT NULL,
  node             text,
  boot             text,
  -- Rises at every acquisition, by whomever; the row and its epoch stay for ever.
  epoch            bigint      NOT NULL DEFAULT 0,
  claimed_at       timestamptz,
  settle_until     timestamptz,
  -- The highest `adopted` marker that a writer has reached.
  projected_epoch  bigint      NOT NULL DEFAULT 0,
  PRIMARY KEY (cell, id),
  -- Looked at when the statement ends: two accounts may swap their brokers' addresses.
  UNIQUE (cell, broker, login) DEFERRABLE,
  CHECK ((node IS NULL) = (boot IS NULL))
);

CREATE INDEX trading_accounts_owner ON trading_accounts (cell, node, boot);

CREATE TABLE copy_links (
  cell         text    NOT NULL,
  id           text    NOT NULL,
  master_id    text    NOT NULL,
  follower_id  text    NOT NULL,
  magic        bigint  NOT NULL CHECK (magic BETWEEN 0 AND 2147483647),
  enabled      boolean NOT NULL,
  settings     jsonb   NOT NULL,
  PRIMARY KEY (cell, id),
  -- Magic is given once per (broker, login) and never again. An account is one login at one broker
  -- for ever, no link is ever deleted and none changes its follower or magic (directoryRules.ts),
  -- so the follower stands for its (broker, login) here.
  UNIQUE (cell, follower_id, magic),
  -- What a pair points at: a pair of the wrong master or follower is refused.
  UNIQUE (cell, id, master_id, follower_id),
  FOREIGN KEY (cell, master_id) REFERENCES trading_accounts (cell, id),
  FOREIGN KEY (cell, follower_id) REFERENCES trading_accounts (cell, id),
  CHECK (master_id <> follower_id)
);

CREATE TABLE pairs (
  cell                   text     NOT NULL,
  link_id                text     NOT NULL,
  master_ticket          bigint   NOT NULL CHECK (master_ticket >= 0),
  opening                integer  NOT NULL CHECK (opening >= 1),
  epoch                  bigint   NOT NULL CHECK (epoch >= 0),
  n                      bigint   NOT NULL CHECK (n >= 0),
  master_id              text     NOT NULL,
  follower_id            text     NOT NULL,
  status                 text     NOT NULL CHECK (status IN ('Sending', 'Open', 'Closed', 'Skipped', 'Superseded')),
  holds                  text     NOT NULL CHECK (holds IN ('position', 'pending')),
  symbol                 text     NOT NULL,
  digits                 smallint NOT NULL CHECK (digits BETWEEN 0 AND 12),
  side                   text     NOT NULL CHECK (side IN ('buy', 'sell')),
  follower_ticket        bigint   CHECK (follower_ticket >= 0),
  initial_volume         bigint   NOT NULL CHECK (initial_volume >= 0),
  volume                 bigint   NOT NULL CHECK (volume >= 0),
  master_initial_volume  bigint   NOT NULL CHECK (master_initial_volume >= 0),
  master_volume          bigint   NOT NULL CHECK (master_volume >= 0),
  open_price             bigint,
  stop_loss              bigint,
  take_profit            bigint,
  reason                 text,
  detail                 jsonb    NOT NULL,
  -- Milliseconds since 1970 on the owner's wall clock, fractions kept.
  changed_at_ms          double precision NOT NULL,
  PRIMARY KEY (cell, link_id, master_ticket, opening),
  FOREIGN KEY (cell, link_id, master_id, follower_id) REFERENCES copy_links (cell, id, master_id, follower_id)
);

-- One live pair per trade. storage/pairStore.ts supersedes the older owner's before it writes.
CREATE UNIQUE INDEX pairs_one_live ON pairs (cell, link_id, master_ticket) WHERE status IN ('Sending', 'Open');
CREATE INDEX pairs_follower ON pairs (cell, follower_id);

-- Why a trade was not copied, or why a copy ended: one row for each written version with a reason.
CREATE TABLE copy_events (
  cell           text    NOT NULL,
  link_id        text    NOT NULL,
  master_ticket  bigint  NOT NULL,
  opening        integer NOT NULL,
  epoch          bigint  NOT NULL,
  n              bigint  NOT NULL,
  follower_id    text    NOT NULL,
  status         text    NOT NULL,
  reason         text    NOT NULL,
  detail         jsonb   NOT NULL,
  changed_at_ms  double precision NOT NULL,
  PRIMARY KEY (cell, link_id, master_ticket, opening, epoch, n)
);

CREATE INDEX copy_events_follower ON copy_events (cell, follower_id, changed_at_ms);

-- Events that their own content kept out. `json`, not `jsonb`: it keeps what jsonb would refuse.
CREATE TABLE rejected_rows (
  cell      text        NOT NULL,
  -- SHA-256 of the event's text: the same event is kept once, however often it comes.
  digest    text        NOT NULL,
  follower  text        NOT NULL,
  event     json        NOT NULL,
  code      text        NOT NULL,
  text      text        NOT NULL,
  at        timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (cell, digest)
);

CREATE TABLE node_uptime (
  cell    text        NOT NULL,
  node    text        NOT NULL,
  minute  timestamptz NOT NULL,
  state   text        NOT NULL,
  PRIMARY KEY (cell, node, minute)
);
