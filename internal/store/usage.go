package store

import (
	"time"

	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
)

// UsageKey is what usage is added up over.
type UsageKey string

// The keys. An agent's is its id, a day is in UTC.
const (
	UsageByOrg       UsageKey = "org"
	UsageByAgent     UsageKey = "agent"
	UsageBySession   UsageKey = "session"
	UsageByExecution UsageKey = "execution"
	UsageByModel     UsageKey = "model"
	UsageByDay       UsageKey = "day"
)

// UsageQuery finds model requests. Empty fields do not narrow.
type UsageQuery struct {
	By        UsageKey
	Org       string
	Agent     string // id
	Session   string
	Execution string
	Since     time.Time // from this moment on
	Until     time.Time // before this moment
	Limit     int       // groups, those with the most tokens first; days in their order. Must be positive
}

// UsageSum is what a group's requests used.
type UsageSum struct {
	Key   string
	Calls int64
	Open  int64 // of them, those without an answer so far: they count at their hold
	Usage *messagev1.Usage
	First time.Time
	Last  time.Time
}

// UsageSums are groups and the sum over all of them, also over those that the
// limit leaves out.
type UsageSums struct {
	Groups []UsageSum
	Total  UsageSum
	More   bool // the limit left some out
}
