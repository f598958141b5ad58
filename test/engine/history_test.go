package engine

import (
	"bytes"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // reads the engine's file

	"github.com/cadre-dev/cadre/test/built"
)

const (
	historyCalls = 200
	historyFile  = 5 << 10
	historyLimit = 1 << 20
)

// marks are words of which none may stand in a file of the engine.
var marks = struct{ prompt, answer, result, path string }{"quixotry", "zephyrine", "bumbershoot", "gallimaufry"}

// Reliability, line 14: a turn of 200 model calls that each read 5 KB leaves less
// than 1 MB in the engine's history. Besides, the engine holds ids only: nothing of
// what was said, read or named is in its files.
func TestEngineHistoryHoldsIDsOnly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := built.ByEngine(t, filepath.Join(dir, "data"))
	work := filepath.Join(dir, "work-"+marks.path)
	put(t, filepath.Join(work, marks.path+".txt"), strings.Repeat(marks.result+" ", historyFile/len(marks.result)))
	declare(t, s, "reader", "Read, "+marks.prompt+".", historyScript(), "read")
	session := say(t, s, "reader", "Read it all, "+marks.prompt+".", work)
	events := s.AwaitType(t, session, "turn.completed", 1)
	if got := count(events, "agent.tool.completed"); got != historyCalls {
		t.Fatalf("%d calls completed; want %d", got, historyCalls)
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	engine := filepath.Join(s.Data, "engine")
	held := historyBytes(t, filepath.Join(engine, "engine.db"))
	t.Logf("the engine's history of %d model calls holds %d bytes", historyCalls, held)
	if held == 0 || held >= historyLimit {
		t.Errorf("the engine's history holds %d bytes; want some, and less than %d", held, historyLimit)
	}
	searchMarks(t, engine, session)
}

func historyScript() string {
	var s strings.Builder
	s.WriteString("steps:\n")
	for range historyCalls {
		fmt.Fprintf(&s, "  - text: Reading, %s.\n    tools: [{name: read, args: {path: %s.txt}}]\n", marks.answer, marks.path)
	}
	fmt.Fprintf(&s, "  - text: All is read, %s.\n", marks.answer)
	return s.String()
}

// historyBytes is the size of everything that the engine keeps of workflows.
func historyBytes(t *testing.T, path string) int64 {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	var all int64
	for _, query := range []string{
		"SELECT coalesce(sum(length(data)), 0) FROM history_node",
		"SELECT coalesce(sum(length(data) + length(state)), 0) FROM executions",
		"SELECT coalesce(sum(length(data)), 0) FROM activity_info_maps",
	} {
		var n int64
		if err := db.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		all += n
	}
	return all
}

// searchMarks looks for the words in all files, the write-ahead log included. That it
// finds the session's id shows that it would find them.
func searchMarks(t *testing.T, dir, session string) {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, f := range files {
		raw, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		found = found || bytes.Contains(raw, []byte(session))
		for _, word := range []string{marks.prompt, marks.answer, marks.result, marks.path, "script.yaml"} {
			if bytes.Contains(raw, []byte(word)) {
				t.Errorf("%s holds the word %q", f.Name(), word)
			}
		}
	}
	if !found {
		t.Errorf("the session %s is in no file of the engine: nothing was looked at", session)
	}
}
