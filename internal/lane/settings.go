package lane

import (
	sessionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/sandbox"
)

// The variables.
const (
	EnvPlacement       = "CADRE_SANDBOX_PLACEMENT"         // hands | runner; default hands
	EnvSessionRouting  = "CADRE_ACTIVITY_ROUTING"          // global | session; default global
	EnvWorkflowRouting = "CADRE_WORKFLOW_ACTIVITY_ROUTING" // global | execution; default global
	EnvTarget          = "CADRE_DEFAULT_EXECUTION_TARGET"  // local | cloud; default local
)

// GlobalQueue is where activities go that have no lane of their own.
const GlobalQueue = "cadre_runner"

// SessionQueue names a session's lane.
func SessionQueue(session string) string { return "session:" + session }

// WorkflowQueue names the lane of a workflow's execution.
func WorkflowQueue(execution string) string { return "wfexec:" + execution }

// Settings say what is sent where. The zero value is the default.
type Settings struct {
	InSandbox    bool // placement runner: the sandbox hosts the attempt; else only its tools reach there
	PerSession   bool // sessions have lanes of their own
	PerExecution bool // executions of workflows have
	Target       sessionv1.ExecutionTarget
}

// choice is a variable with its two words; the first is the default.
type choice struct{ name, usual, other string }

func (c choice) read(env func(string) string) (other bool, err error) {
	switch word := env(c.name); word {
	case "", c.usual:
		return false, nil
	case c.other:
		return true, nil
	default:
		return false, fault.New(fault.InvalidArgument, "BAD_SANDBOX_SETTING", "%s=%s is not known: write %s or %s", c.name, word, c.usual, c.other)
	}
}

// FromEnv reads them.
func FromEnv(env func(string) string) (Settings, error) {
	s := Settings{Target: sessionv1.ExecutionTarget_local}
	cloud := false
	for _, v := range []struct {
		choice
		into *bool
	}{
		{choice{EnvPlacement, "hands", "runner"}, &s.InSandbox},
		{choice{EnvSessionRouting, "global", "session"}, &s.PerSession},
		{choice{EnvWorkflowRouting, "global", "execution"}, &s.PerExecution},
		{choice{EnvTarget, "local", "cloud"}, &cloud},
	} {
		var err error
		if *v.into, err = v.read(env); err != nil {
			return s, err
		}
	}
	if cloud {
		s.Target = sessionv1.ExecutionTarget_cloud
	}
	return s, nil
}

// Check refuses sandboxes that would host attempts which nothing sends them.
func (s Settings) Check(provisioner string) error {
	if provisioner == "" || !s.InSandbox || s.PerSession || s.PerExecution {
		return nil
	}
	return fault.New(fault.InvalidArgument, "SANDBOX_ROUTING_INCOHERENT",
		"%s=%s with %s=runner makes sandboxes that nothing is sent to: set %s=session or %s=execution, or leave %s out",
		sandbox.EnvProvisioner, provisioner, EnvPlacement, EnvSessionRouting, EnvWorkflowRouting, EnvPlacement)
}

// Dispatch is where the activities of one run are sent.
type Dispatch struct {
	Queue string
	Cloud bool // its target is a sandbox
}

// session works out the dispatch of a session's run.
func (s Settings) session(id string, target sessionv1.ExecutionTarget) Dispatch {
	d := Dispatch{Queue: GlobalQueue, Cloud: s.cloud(target)}
	if d.Cloud && s.PerSession {
		d.Queue = SessionQueue(id)
	}
	return d
}
