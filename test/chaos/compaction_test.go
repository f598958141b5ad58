package chaos

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/test/built"
)

const (
	compactAgent  = "apiVersion: agentic.cadre.dev/v1\nkind: Agent\nmetadata: {slug: reader}\nspec: {instructions: You read with care., tools: [read], model: \"scripted:compact.yaml\"}\n"
	compactWindow = 2000 // tokens, four of the six results
)

// compactScript reads a file six times, which its window has no room for, and then says so.
func compactScript() string {
	var b strings.Builder
	fmt.Fprintf(&b, "window: %d\ncompaction: {text: Some results were read.}\nturns:\n  - steps:\n", compactWindow)
	for range 6 {
		b.WriteString("      - {tools: [{name: read, args: {path: a.txt}}]}\n")
	}
	b.WriteString("      - {text: All six are read.}\n  - steps: [{text: And on it goes.}]\n")
	return b.String()
}

// Wherever the server dies around a compaction, the history is the old one or the new one: the
// turn goes on where it was, no call runs twice, and the next message is answered over it.
func TestACompactionIsWholeOverKills(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"agent.yaml": compactAgent, "compact.yaml": compactScript()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	folder := filepath.Join(dir, "work")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "a.txt"), []byte(strings.Repeat("words of a file\n", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	for i, place := range []string{
		"", "commit.dispatch.before=kill@6", "commit.dispatch.after=kill@6", "commit.compact.before=kill@1", "commit.compact.after=kill@1",
		"commit.dispatch.after=kill@7", "commit.respond.before=kill@6",
	} {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			s, err := built.Hurt(t, filepath.Join(t.TempDir(), "data"), append(dispatch(i), "CADRE_FAILPOINTS="+place)...)
			if err != nil {
				t.Fatal(err)
			}
			s.MustRun(t, dir, "apply", "-f", "agent.yaml")
			session := strings.Fields(s.MustRun(t, dir, "run", "reader", "-m", "Read it.", "-w", folder, "--detach"))[0]
			if place != "" {
				if !s.Ended(playTime) {
					t.Fatal("the server did not die")
				}
				s.Env = nil
				s.Start(t)
			}
			if out := s.MustRun(t, dir, "attach", session); strings.Count(out, "\nAll six are read.\n") != 1 || strings.Count(out, "\n✓ read") != 6 {
				t.Errorf("the turn came to\n%s", out)
			}
			log := events(t, s, session)
			if n := count(log, "context.compacted"); n < 1 || n > 2 {
				t.Errorf("the history was replaced %d times", n)
			}
			if out := s.MustRun(t, dir, "send", session, "-m", "And on?"); !strings.Contains(out, "And on it goes.") {
				t.Errorf("the next message is answered with\n%s", out)
			}
		})
	}
}
