# Every target does its own set-up: a fresh clone needs nothing first.

INSTALLED := node_modules/.package-lock.json

.PHONY: demo kafka live mutants test

demo: $(INSTALLED)
	@node ops/bin/lockstep.mjs demo

kafka: $(INSTALLED)
	@node ops/bin/lockstep.mjs kafka

test: $(INSTALLED)
	npm run --silent types
	npm run --silent lint
	npm run --silent test

# Real processes and long waits: what the suite has no time for.
live: $(INSTALLED)
	npm run --silent test -- --live

# Each guard of who may trade, taken away in turn in a copy of the sources, makes a case fail.
mutants: $(INSTALLED)
	@node --import tsx test/mutants/mutants.ts

# Only what the lock file names, and only when it changed: a second user of the clone need not be able to write here.
$(INSTALLED): package-lock.json
	npm ci
	@touch $(INSTALLED)
