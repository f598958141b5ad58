package app

import (
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/handsbin"
	"github.com/cadre-dev/cadre/internal/lane"
	"github.com/cadre-dev/cadre/internal/sandbox"
	"github.com/cadre-dev/cadre/internal/standard"
)

// usableTime bounds how long Doctor asks whether one driver is usable.
const usableTime = 10 * time.Second

// checkSandboxes says how tools are kept away from this machine, and of each driver whether
// it could be used here and why not. Only the one that is asked for has to be.
func checkSandboxes(ctx context.Context) []Finding {
	wanted := os.Getenv(sandbox.EnvProvisioner)
	var findings []Finding
	if wanted == "" {
		findings = append(findings, Finding{"sandboxes", true, "none: tools work on this machine, with the rights of the server; " + sandbox.EnvProvisioner + " chooses a driver", ""})
	} else if err := chosen(wanted); err != nil {
		findings = append(findings, Finding{"sandboxes", false, fault.From(err).Message, "the server does not start like this; correct the variable or unset it"})
	}
	for _, d := range standard.Sandboxes() {
		findings = append(findings, checkDriver(ctx, d, d.Name == wanted))
	}
	return findings
}

// chosen refuses settings with which a server does not start.
func chosen(name string) error {
	settings, err := lane.FromEnv(os.Getenv)
	if err != nil {
		return err
	}
	known, err := sandbox.NewRegistry(standard.Sandboxes(), nil)
	if err != nil {
		return err
	}
	if _, _, err := known.Select(name); err != nil {
		return err
	}
	return settings.Check(name)
}

func checkDriver(ctx context.Context, d sandbox.Registration, wanted bool) Finding {
	f := Finding{Check: "sandbox " + d.Name, OK: true, Detail: "usable"}
	if wanted {
		f.Detail = "usable, and asked for"
	}
	if err := usable(ctx, d); err != nil {
		f.OK, f.Detail = !wanted, "not usable here: "+fault.From(err).Message
		if wanted {
			f.Advice = "mend that, or choose another driver with " + sandbox.EnvProvisioner + "; the server does not start like this"
		}
	}
	return f
}

// usable asks a driver, and leaves nothing behind.
func usable(ctx context.Context, d sandbox.Registration) error {
	if d.Usable == nil {
		return nil
	}
	dir, err := os.MkdirTemp("", "cadre-doctor-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	ctx, cancel := context.WithTimeout(ctx, usableTime)
	defer cancel()
	return d.Usable(ctx, sandbox.Options{
		DataDir: dir, Owner: "doctor", Env: os.Getenv, Log: slog.New(slog.DiscardHandler), Hands: handsbin.New(dir, os.Getenv).File,
	})
}
