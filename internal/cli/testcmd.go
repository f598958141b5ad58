package cli

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/cadre-dev/cadre/internal/agenttest"
)

// testFlags are the flags of test.
type testFlags struct {
	record, update, verbose bool
	parallel                int
	timeout                 time.Duration
}

func (c *app) testCommand() *cobra.Command {
	var f testFlags
	cmd := &cobra.Command{
		Use: "test [PATH...]", Short: "Run agent tests and show where an agent does something else than expected",
		Long: `Runs the tests in files, and in the *.test.yaml files below folders (default: the
folder you are in). It needs no server: it starts one of its own, which keeps
nothing, and gives each test a workspace of its own.

Exit codes: 0 all tests passed, 1 one failed, 2 a file is wrong, 3 interrupted.`,
		Example: `  cadre test
  cadre test examples/ -v
  cadre test tests/review.test.yaml --record
  cadre test --update`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.parallel < 1 {
				return usage("--parallel is a number of tests, 1 or more")
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return c.test(ctx, &f, args)
		},
	}
	cmd.Flags().BoolVar(&f.record, "record", false, "ask the real models and write what they answer into the files that `cassette` names")
	cmd.Flags().BoolVar(&f.update, "update", false, "write what came into the texts that were expected with `equals`")
	cmd.Flags().BoolVarP(&f.verbose, "verbose", "v", false, "show the last events of a test that fails")
	cmd.Flags().IntVar(&f.parallel, "parallel", 4, "how many tests run at once")
	cmd.Flags().DurationVar(&f.timeout, "timeout", 5*time.Minute, "how long one test may take")
	c.outputFlag(cmd)
	return cmd
}

// test loads all files, runs them on a server of its own and shows what came.
func (c *app) test(ctx context.Context, f *testFlags, paths []string) error {
	began := time.Now()
	files, err := testFiles(paths)
	if err != nil {
		return err
	}
	all, err := c.loadScenarios(files, f.record)
	if err != nil {
		return err
	}
	if c.Serve == nil {
		return fmt.Errorf("this program has no server, and cannot run tests")
	}
	s, err := c.startScratch(ctx)
	if err != nil {
		return err
	}
	results := make([]*testResult, len(all))
	slots := make(chan struct{}, f.parallel)
	var running sync.WaitGroup
	for i, one := range all {
		slots <- struct{}{}
		running.Go(func() {
			results[i] = s.run(ctx, f, one, i)
			<-slots
		})
	}
	running.Wait()
	if err := s.stop(); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return exitError{exitCancelled, nil}
	}
	return c.showResults(f, results, time.Since(began))
}

// testFiles are the tests that are named, and those below folders, each once.
func testFiles(paths []string) ([]string, error) {
	if len(paths) == 0 {
		paths = []string{"."}
	}
	var files []string
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, usage("%s: %s", path, reasonOf(err))
		}
		if !info.IsDir() {
			files = append(files, filepath.Clean(path))
			continue
		}
		err = filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() && p != path && strings.HasPrefix(d.Name(), ".") {
				return fs.SkipDir
			}
			if err == nil && !d.IsDir() && strings.HasSuffix(d.Name(), agenttest.Suffix) {
				files = append(files, filepath.Clean(p))
			}
			return err
		})
		if err != nil {
			return nil, usage("%s: %s", path, reasonOf(err))
		}
	}
	slices.Sort(files)
	if files = slices.Compact(files); len(files) == 0 {
		return nil, usage("there is no *%s in %s", agenttest.Suffix, strings.Join(paths, ", "))
	}
	return files, nil
}

// showResults prints what came of the tests and answers the exit code.
func (c *app) showResults(f *testFlags, all []*testResult, took time.Duration) error {
	names := make([]string, len(all))
	failed, code := 0, 0
	for i, r := range all {
		names[i] = r.File
		if !r.OK {
			failed++
			code = max(code, r.exit)
		}
	}
	err := c.answer(all, names, func() {
		for _, r := range all {
			c.showResult(f, r)
		}
		c.printf("%s passed, %d failed in %s\n", count(len(all)-failed, "test"), failed, millis(took.Milliseconds()))
	})
	if err == nil && failed > 0 {
		return exitError{code, nil}
	}
	return err
}

func (c *app) showResult(f *testFlags, r *testResult) {
	word := "ok  "
	if !r.OK {
		word = "FAIL"
	}
	c.printf("%s  %s\n", word, visible(join(r.File, r.Name, count(r.Turns, "turn"), millis(r.DurationMS), r.note())))
	if r.Error != "" {
		c.printf("      %s\n", visible(strings.ReplaceAll(r.Error, "\n", "\n      ")))
	}
	for _, x := range r.Failures {
		c.printf("  turn %d, %s: %s\n", x.Turn, fmt.Sprintf("%q", oneLine(x.Say, 50)), visible(x.What))
		for _, line := range x.Diff {
			c.printf("%s\n", strings.TrimRight("    "+visible(line), " "))
		}
	}
	if f.verbose && !r.OK {
		for _, e := range r.events {
			c.eventLine(e)
		}
	}
}
