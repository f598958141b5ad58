// Command mutate breaks the code that decides outcomes, one small change at a time, and
// tells which changes no test notices. It is how the tests of classification, admission,
// settlement and hand-off are tested.
//
//	go -C tools run ./mutate -root .. [-j 2] [-target NAME] [-part K/N] [-o FILE]
//
// Each change is compiled through an overlay, so that the tree stays as it is. A change
// that does not compile proves nothing and is left out. A survivor that accepted.txt
// explains is counted apart; any other makes the exit code 1.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
)

func main() {
	root := flag.String("root", "..", "the checkout")
	jobs := flag.Int("j", 2, "changes that are tried at once")
	only := flag.String("target", "", "the target to try; all without")
	part := flag.String("part", "1/1", "try every Nth change only, beginning with the Kth: K/N")
	out := flag.String("o", "", "a file for the report, besides the output")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var k, n int
	if _, err := fmt.Sscanf(*part, "%d/%d", &k, &n); err != nil || k < 1 || n < k {
		fmt.Fprintf(os.Stderr, "mutate: -part %s is not of the form K/N, such as 1/4\n", *part)
		os.Exit(2)
	}
	survivors, err := mutate(ctx, *root, *only, *out, share{k, n, *jobs})
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(2)
	}
	if survivors > 0 {
		os.Exit(1)
	}
}

// mutate tries the targets and counts the survivors that nothing explains.
func mutate(ctx context.Context, root, only, out string, s share) (int, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return 0, err
	}
	accepted, err := readAccepted(filepath.Join(root, "tools", "mutate", "accepted.txt"))
	if err != nil {
		return 0, err
	}
	var report strings.Builder
	survivors, found := 0, false
	for _, t := range targets {
		if only != "" && t.name != only {
			continue
		}
		found = true
		sum, err := t.try(ctx, root, s, accepted)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", t.name, err)
		}
		sum.write(&report)
		survivors += len(sum.survivors)
	}
	if !found {
		return 0, fmt.Errorf("there is no target %q", only)
	}
	fmt.Print(report.String())
	if out == "" {
		return survivors, nil
	}
	return survivors, os.WriteFile(out, []byte(report.String()), 0o600)
}
