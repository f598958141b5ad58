// Package shell is the tool that runs commands. A command is unsafe: it is never
// run again by itself. It ends as a whole tree, with its time, with a cancel of
// its turn, with its session and with the server; what was started in the
// background lives on between the calls and turns of a session.
//
// It does not confine what a command may reach: it runs with the rights of the
// server, in an environment without the server's keys.
package shell

import (
	"context"
	"crypto/sha256"
	_ "embed" // for the texts beside this file
	"encoding/hex"
	"strings"
	"time"

	"github.com/cadre-dev/cadre/internal/tool"
	"github.com/cadre-dev/cadre/internal/workspace"
)

//go:embed description.md
var description string

//go:embed schema.json
var schema []byte

const (
	defaultTimeout = 120
	longestTimeout = 3600
	longestWait    = 300

	// early is how long a background command is watched for an early end.
	early = 300 * time.Millisecond
	// grace is what a tree gets to end by itself when its time is over.
	grace = 2 * time.Second
	// abortGrace is the same when the turn ends: a cancel is meant to arrive at once.
	abortGrace = 200 * time.Millisecond
	// proofTime bounds how long a command's end may take to be proven.
	proofTime = 10 * time.Second
)

type shell struct{}

// New makes the tool.
func New() tool.Tool { return shell{} }

// Spec describes the tool.
func (shell) Spec() tool.Spec {
	return tool.Spec{Name: "shell", Description: description, Schema: schema, Class: tool.Unsafe}
}

type arguments struct {
	Command string `json:"command,omitempty"`
	Timeout int    `json:"timeout_seconds,omitempty"`
	Back    bool   `json:"background,omitempty"`
	Read    string `json:"read,omitempty"`
	Wait    int    `json:"wait_seconds,omitempty"`
	Kill    string `json:"kill,omitempty"`
}

// ClassOf says that only a command is unsafe: reading changes nothing, and to end
// a process twice is to end it.
func (shell) ClassOf(call tool.Call) tool.Class {
	var args arguments
	if tool.Decode(call, &args) != nil || args.check() != "" {
		return tool.ReadOnly // it is refused without an effect
	}
	switch {
	case args.Read != "":
		return tool.ReadOnly
	case args.Kill != "":
		return tool.Idempotent
	}
	return tool.Unsafe
}

// check answers what is wrong with the arguments.
func (a *arguments) check() string {
	wishes := 0
	for _, given := range []string{a.Command, a.Read, a.Kill} {
		if strings.TrimSpace(given) != "" {
			wishes++
		}
	}
	switch {
	case wishes != 1:
		return "Give exactly one of `command`, `read` and `kill`."
	case strings.ContainsRune(a.Command, 0):
		return "The command holds a zero byte, which no command line can."
	case a.Timeout < 0 || a.Timeout > longestTimeout:
		return "`timeout_seconds` must be between 1 and 3600. Run what takes longer in the background."
	case a.Timeout > 0 && (a.Back || a.Command == ""):
		return "`timeout_seconds` is for a command in the foreground."
	case a.Back && a.Command == "":
		return "`background` goes with `command`."
	case a.Wait < 0 || a.Wait > longestWait:
		return "`wait_seconds` must be between 0 and 300."
	case a.Wait > 0 && a.Read == "":
		return "`wait_seconds` goes with `read`."
	}
	return ""
}

// Run does what the arguments ask for.
func (s shell) Run(ctx context.Context, env tool.Env, call tool.Call) (tool.Result, error) {
	var args arguments
	if r := tool.Decode(call, &args); r != nil {
		return *r, nil
	}
	if wrong := args.check(); wrong != "" {
		return tool.Fail("%s", wrong), nil
	}
	if r := tool.NeedWorkspace(env); r != nil {
		return *r, nil
	}
	switch {
	case args.Read != "":
		return read(ctx, env, call, args)
	case args.Kill != "":
		return kill(ctx, env, args.Kill)
	}
	p, err := env.Workspace.Start(ctx, workspace.Command{
		ID: name(env.Session, call.ID), Session: env.Session, Execution: env.Execution, Line: args.Command, Background: args.Back,
	})
	if err != nil {
		return notStarted(ctx, err)
	}
	if args.Back {
		return background(ctx, p)
	}
	if args.Timeout == 0 {
		args.Timeout = defaultTimeout
	}
	return foreground(ctx, env, p, time.Duration(args.Timeout)*time.Second)
}

// name is how the model names a process: short, and the same for the same call.
func name(session, call string) string {
	sum := sha256.Sum256([]byte(session + "/" + call))
	return "p" + hex.EncodeToString(sum[:3])
}
