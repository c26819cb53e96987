-- How accounts stand at their brokers, as their owners say it: through the writers, under the owners' fence.

CREATE TABLE account_states (
  cell           text    NOT NULL,
  account        text    NOT NULL,
  epoch          bigint  NOT NULL CHECK (epoch >= 0),
  n              bigint  NOT NULL CHECK (n >= 0),
  connected      boolean NOT NULL,
  -- Hundredths of the currency; null where the broker does not tell.
  balance_cents  bigint,
  equity_cents   bigint,
  currency       text,
  last_error     text,
  -- Milliseconds since 1970 on the owner's wall clock, fractions kept.
  changed_at_ms  double precision NOT NULL,
  PRIMARY KEY (cell, account),
  FOREIGN KEY (cell, account) REFERENCES trading_accounts (cell, id)
);
