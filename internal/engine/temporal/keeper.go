package temporal

import (
	"context"
	"time"
)

// Waits of the keeper of an external server's connection.
const (
	lookEvery    = 2 * time.Second        // while it is there
	firstRetry   = 100 * time.Millisecond // after it was not, doubled
	longestRetry = 5 * time.Second
	lookTimeout  = 5 * time.Second
)

// keep looks after the connection until the engine stops.
func (e *external) keep() {
	defer close(e.kept)
	retry := firstRetry
	for e.stopping.Err() == nil {
		wait := lookEvery
		if err := e.look(); err != nil {
			e.lose(err)
			wait, retry = retry, min(2*retry, longestRetry)
		} else {
			retry = firstRetry
		}
		select {
		case <-e.stopping.Done():
		case <-e.kick:
		case <-time.After(wait):
		}
	}
}

// look makes sure that there is a connection with a living worker on it and that
// the memory behind it is the known one.
func (e *external) look() error {
	c, err := e.current()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(e.stopping, lookTimeout)
	defer cancel()
	namespaceID, err := c.namespaceID(ctx)
	if err != nil {
		return err
	}
	if e.usable(namespaceID) {
		return nil
	}
	clusterID, err := c.clusterID(ctx)
	if err != nil {
		return err
	}
	if c, err = e.fresh(c); err != nil {
		return err
	}
	if err := c.startWorker(e.host); err != nil {
		return err
	}
	e.reach(c, memoryID(clusterID, namespaceID), namespaceID)
	return nil
}

// current is the connection, made when there is none.
func (e *external) current() (*connection, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.link != nil {
		return e.link, nil
	}
	c, err := connect(e.target, newLines(e.log))
	e.link = c
	return c, err
}

// fresh is a connection without a worker. The pollers of a worker that failed for a
// while wait ever longer, so that one that was in use is replaced.
func (e *external) fresh(c *connection) (*connection, error) {
	if c.worker == nil {
		return c, nil
	}
	next, err := connect(e.target, newLines(e.log))
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.link = next
	e.retire(c)
	return next, nil
}

// retire ends a worker when its attempts have ended and reported.
func (e *external) retire(c *connection) {
	e.retired.Go(func() {
		c.lines.state.quiet.Store(true)
		if c.worker != nil {
			c.worker.Stop()
		}
		c.client.Close()
	})
}

// usable tells whether the connection stands and leads to the memory that is known.
func (e *external) usable(namespaceID string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.trouble == nil && e.link.namespaceSeen == namespaceID && e.link.lines.state.failure() == nil
}

// reach notes that the server can be used and has the handlers tell it what is open.
func (e *external) reach(c *connection, memory, namespaceID string) {
	e.mu.Lock()
	c.namespaceSeen = namespaceID
	var after time.Duration
	if e.trouble != nil {
		after = time.Since(e.since)
	}
	e.id, e.trouble = memory, nil
	e.mu.Unlock()
	e.log.Info("engine is reached", "address", e.to.Address, "namespace", e.to.Namespace, "engine_id", memory, "after_ms", after.Milliseconds())
	e.takeover.begin()
	e.host.handlers.Connected(e.stopping, memory)
}

// lose notes why the server cannot be used. The log has it when it changes.
func (e *external) lose(err error) {
	if e.stopping.Err() != nil {
		return
	}
	why := e.to.explain(err)
	e.mu.Lock()
	before := e.trouble
	if before == nil {
		e.since = time.Now()
	}
	e.trouble = why
	e.mu.Unlock()
	if before == nil || before.Error() != why.Error() {
		e.log.Warn("engine cannot be reached; inputs are accepted and wait", "address", e.to.Address, "error", why.Because(err))
	}
}
