package chaos

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/test/built"
)

const (
	faultAgent  = "apiVersion: agentic.cadre.dev/v1\nkind: Agent\nmetadata: {slug: editor}\nspec: {instructions: You edit with care., tools: [edit], model: \"scripted:faults.yaml\"}\n"
	faultScript = "steps:\n" +
		"  - tools: [{name: edit, args: {path: a.txt, old_text: x, new_text: xy}}]\n" +
		"  - error: {category: overloaded, times: 3}\n" +
		"    text: Edited once.\n"
	fastRecovery = "CADRE_RECOVERY_DELAYS=10ms"
)

// TestATurnThatWaitsForItsProviderGoesOnAfterACrash: wherever the server dies, before,
// during or after the wait for an overloaded provider, the same turn goes on and ends, and
// the tool that ran before does not run again.
func TestATurnThatWaitsForItsProviderGoesOnAfterACrash(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"agent.yaml": faultAgent, "faults.yaml": faultScript} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, place := range []string{
		"commit.dispatch.after=kill@2", "commit.settle.before=kill@1", "commit.settle.after=kill@1", "commit.consume_timers.before=kill@1",
		"commit.consume_timers.after=kill@1", "commit.claim.before=kill@2", "commit.claim.after=kill@2", "commit.settle.after=kill@2",
	} {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			s, err := built.Hurt(t, filepath.Join(t.TempDir(), "data"), fastRecovery, "CADRE_FAILPOINTS="+place)
			if err != nil {
				t.Fatal(err)
			}
			s.MustRun(t, dir, "apply", "-f", "agent.yaml")
			folder := oneFile(t)
			session := strings.Fields(s.MustRun(t, dir, "run", "editor", "-m", "Edit it.", "-w", folder, "--detach"))[0]
			if !s.Ended(playTime) {
				t.Fatal("the server did not die")
			}
			s.Env = []string{fastRecovery}
			s.Start(t)
			if out := s.MustRun(t, dir, "attach", session); strings.Count(out, "\nEdited once.\n") != 1 || strings.Count(out, "\n✓ edit") != 1 {
				t.Errorf("the turn came to\n%s", out)
			}
			if text, err := os.ReadFile(filepath.Join(folder, "a.txt")); err != nil || string(text) != "xy" {
				t.Errorf("the file holds %q (%v)", text, err)
			}
		})
	}
}
