package scenario

import (
	"os"
	"path/filepath"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// goneTime is the bound that is promised for the end of process trees.
const goneTime = 5 * time.Second

func alive(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 1, "alive DIR")
	if len(inFolder(ts, args[0])) == 0 {
		ts.Fatalf("no process works in %s", args[0])
	}
}

func gone(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 1, "gone DIR")
	for end := time.Now().Add(goneTime); ; time.Sleep(10 * time.Millisecond) {
		all := inFolder(ts, args[0])
		if len(all) == 0 {
			return
		}
		if time.Now().After(end) {
			ts.Fatalf("alive in %s: %v", args[0], all)
		}
	}
}

// inFolder are the processes whose working directory is dir, as far as the system
// tells: without /proc there are none.
func inFolder(ts *testscript.TestScript, dir string) (all []string) {
	real, err := filepath.EvalSymlinks(ts.MkAbs(dir))
	ts.Check(err)
	links, err := filepath.Glob("/proc/[0-9]*/cwd")
	ts.Check(err)
	for _, link := range links {
		if at, err := os.Readlink(link); err == nil && at == real {
			all = append(all, filepath.Base(filepath.Dir(link)))
		}
	}
	return all
}
