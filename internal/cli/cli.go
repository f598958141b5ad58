// Package cli is the command line. It talks to a server over its public API
// and starts one through the Assembly that main hands it; it knows no driver.
//
// Exit codes: 0 completed, 1 failed, 2 usage or bad input, 3 cancelled, 4
// waiting for something named, 5 cut short by a limit or an empty answer.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/spf13/cobra"

	"github.com/cadre-dev/cadre/internal/config"
)

// Exit codes.
const (
	exitFailed    = 1
	exitUsage     = 2
	exitCancelled = 3
	exitWaiting   = 4
	exitCutShort  = 5
)

// Assembly is what a binary is made of, as far as the command line uses it.
type Assembly struct {
	Version string
	Edition string // open_source, or what a composition calls itself
	// Serve runs a server until ctx ends.
	Serve func(ctx context.Context, o ServeOptions) error
	// Doctor looks for what is wrong with a data folder and this machine.
	Doctor func(ctx context.Context, dataDir string) []Finding
	// Migrate tells where the database's schema stands; with up it brings it up to date.
	Migrate func(ctx context.Context, dataDir string, up bool) (Schema, error)
	// Database says which database the environment asks for: the driver's name, and where
	// it is, without secrets; "" for one that lies in the data folder.
	Database func() (store, place string)
	// Nodes are the servers that share a database.
	Nodes Nodes
	// Backups saves data folders and brings them back.
	Backups Backups
}

// ServeOptions are what `cadre up` passes on.
type ServeOptions struct {
	DataDir string
	Listen  string
	Debug   bool
	Engine  string // "" for the default one
	Ready   func(url string)
	Note    func(text string)
	Stderr  io.Writer // nil: the log file only
	// FailFast has a failure of a model's provider end its turn: nothing is tried again by
	// itself.
	FailFast bool
	// OnThisMachine has tools work here, whatever the environment says of sandboxes.
	OnThisMachine bool
}

// Finding is one result of `cadre doctor`.
type Finding struct {
	Check  string `json:"check"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
	Advice string `json:"advice,omitempty"` // what to do; "" when OK
}

// app is one invocation.
type app struct {
	Assembly
	in       io.Reader
	out, err io.Writer
	data     string // --data
	server   string // --server
	output   string // -o
}

// Main runs the command line and answers the exit code.
func Main(a Assembly, args []string, in io.Reader, out, errOut io.Writer) int {
	written := &checked{to: out}
	c := &app{Assembly: a, in: in, out: written, err: errOut}
	root := c.root()
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(written)
	root.SetErr(errOut)
	err := root.ExecuteContext(context.Background())
	var code exitError
	switch {
	case err == nil && written.err != nil:
		c.complain(fmt.Errorf("standard output cannot be written, and what should stand there is lost: %w", written.err))
		return exitFailed
	case err == nil:
		return 0
	case errors.As(err, &code):
		if code.err != nil {
			c.complain(code.err)
		}
		return code.code
	}
	c.complain(err)
	return exitOf(err)
}

// checked remembers that something could not be written.
type checked struct {
	to  io.Writer
	mu  sync.Mutex
	err error // the first
}

// Write writes.
func (w *checked) Write(p []byte) (int, error) {
	n, err := w.to.Write(p)
	if err != nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.err == nil {
			w.err = err
		}
	}
	return n, err
}

// exitError carries an exit code; its error is shown when it is not nil.
type exitError struct {
	code int
	err  error
}

func (e exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit %d", e.code)
	}
	return e.err.Error()
}

func (e exitError) Unwrap() error { return e.err }

// usage is an error of how a command was called.
func usage(format string, args ...any) error {
	return exitError{exitUsage, fmt.Errorf(format, args...)}
}

// The groups of commands in the help.
const (
	groupServer    = "server"
	groupResources = "resources"
	groupWork      = "work"
)

func (c *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "cadre",
		Short: "Run AI agents that must not be lost",
		Long: `cadre runs AI agents durably: server, agent runtime and command line in one.

  cadre up -d                         start a server in the background
  cadre apply -f agent.yaml           declare an agent
  cadre run AGENT -m "…" -w .         give it work in this folder and watch

Exit codes: 0 completed, 1 failed, 2 bad input, 3 cancelled, 4 waiting for
something named, 5 cut short by a limit or an empty answer.`,
		SilenceErrors: true, SilenceUsage: true, Version: c.Version,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return noCommand(cmd, args[0])
			}
			return cmd.Help()
		},
	}
	root.SetVersionTemplate("cadre {{.Version}}\n")
	flags := root.PersistentFlags()
	flags.StringVar(&c.data, "data", "", "data folder (default $CADRE_DATA, else ~/.cadre)")
	flags.StringVar(&c.server, "server", "", "address of the server (default $CADRE_SERVER, else the data folder's server.json)")
	root.SetFlagErrorFunc(flagError)
	root.AddGroup(
		&cobra.Group{ID: groupServer, Title: "The server:"},
		&cobra.Group{ID: groupResources, Title: "What is declared:"},
		&cobra.Group{ID: groupWork, Title: "Work:"},
	)
	c.add(root, groupServer, c.upCommand(), c.downCommand(), c.statusCommand(), c.logsCommand(), c.doctorCommand(), c.migrateCommand(), c.nodesCommand(), c.serverCommand(), c.backupCommand(), c.restoreCommand(), c.licenseCommand())
	c.add(root, groupResources, c.applyCommand(), c.validateCommand(), c.getCommand(), c.listCommand(), c.describeCommand(), c.deleteCommand(), c.modelsCommand(), c.searchCommand())
	c.add(root, groupWork, c.runCommand(), c.sendCommand(), c.chatCommand(), c.attachCommand(), c.recoverCommand(), c.cancelCommand(), c.eventsCommand(), c.testCommand(), c.sessionsCommand(), c.executionsCommand(),
		c.downloadCommand(), c.usageCommand(), c.budgetCommand(), c.goalCommand(), c.sandboxCommand())
	root.AddCommand(c.versionCommand(), c.docsCommand())
	for _, name := range planned {
		root.AddCommand(notBuilt(name))
	}
	return root
}

func (c *app) add(root *cobra.Command, group string, commands ...*cobra.Command) {
	for _, cmd := range commands {
		cmd.GroupID = group
		root.AddCommand(cmd)
	}
}

func (c *app) dataDir() (string, error) { return config.DataDir(c.data) }

func (c *app) printf(format string, args ...any) { _, _ = fmt.Fprintf(c.out, format, args...) }

// note tells a person something beside the output.
func (c *app) note(format string, args ...any) { _, _ = fmt.Fprintf(c.err, format+"\n", args...) }
