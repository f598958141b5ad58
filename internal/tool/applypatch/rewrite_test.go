package applypatch

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestRandomDiffs: a unified diff of two random files turns one into the other.
func TestRandomDiffs(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	for range 3000 {
		end := []string{"\n", "\r\n"}[random.IntN(2)]
		before := make([]row, random.IntN(30))
		for i := range before {
			before[i] = row{fmt.Sprintf("line %d", random.IntN(12)), end}
		}
		after := edited(random, before, end)
		for _, rows := range [][]row{before, after} {
			if n := len(rows); n > 1 && random.IntN(3) == 0 {
				rows[n-1].end = ""
			}
		}
		patch := "--- a/f\n+++ b/f\n" + diffOf(before, after, random.IntN(4))
		if !strings.Contains(patch, "@@") {
			continue
		}
		files, bad := parse(patch)
		if bad != nil {
			t.Fatalf("parse: %s\n%s", bad, patch)
		}
		got, misfits := rewrite(join(before), files[0].hunks)
		if len(misfits) > 0 || got != join(after) {
			t.Fatalf("rewrite(%q) = %q, %+v, want %q; the patch is\n%s", join(before), got, misfits, join(after), patch)
		}
	}
}

// edited is a file with some lines changed, removed or added.
func edited(random *rand.Rand, before []row, end string) []row {
	var after []row
	for _, r := range before {
		switch random.IntN(12) {
		case 0:
		case 1:
			after = append(after, row{fmt.Sprintf("new %d", random.IntN(9)), end})
		case 2:
			after = append(after, r, row{fmt.Sprintf("line %d", random.IntN(12)), end})
		default:
			after = append(after, r)
		}
	}
	return after
}

// step is one line of a difference.
type step struct {
	op  string
	row row
}

// stepsOf is how one file becomes another.
func stepsOf(before, after []row) []step {
	var all []step
	i, j := 0, 0
	for i < len(before) || j < len(after) {
		switch {
		case i < len(before) && j < len(after) && before[i] == after[j]:
			all = append(all, step{" ", before[i]})
			i, j = i+1, j+1
		case i < len(before) && (j == len(after) || !slices.Contains(after[j:], before[i])):
			all = append(all, step{"-", before[i]})
			i++
		case j < len(after):
			all = append(all, step{"+", after[j]})
			j++
		}
	}
	return all
}

// diffOf writes hunks with some lines of context, as diff does.
func diffOf(before, after []row, context int) string {
	all := stepsOf(before, after)
	shown := make([]bool, len(all))
	for i, s := range all {
		for k := max(0, i-context); s.op != " " && k < min(len(all), i+context+1); k++ {
			shown[k] = true
		}
	}
	var b strings.Builder
	line := 0 // of the old file, that come before
	for i := 0; i < len(all); {
		if !shown[i] {
			line, i = line+1, i+1 // only what stays is not shown
			continue
		}
		var body strings.Builder
		minus, plus := 0, 0
		for ; i < len(all) && shown[i]; i++ {
			body.WriteString(all[i].op + all[i].row.text + "\n")
			if all[i].row.end == "" {
				body.WriteString("\\ No newline at end of file\n")
			}
			if all[i].op != "+" {
				minus++
			}
			if all[i].op != "-" {
				plus++
			}
		}
		first := line + 1
		if minus == 0 {
			first = line
		}
		fmt.Fprintf(&b, "@@ -%d,%d +1,%d @@\n%s", first, minus, plus, body.String())
		line += minus
	}
	return b.String()
}

// FuzzParse: no patch makes the parser panic or give half a file.
func FuzzParse(f *testing.F) {
	f.Add("*** Begin Patch\n*** Update File: a\n*** Move to: b\n@@ x\n-a\n+b\n*** End of File\n*** Add File: c\n+x\n*** End Patch")
	f.Add("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1 @@\n a\n-b\n\\ No newline at end of file\n")
	f.Add("rename from \"a\\303\"\nrename to b\n")
	f.Add("```\n--- a\n+++ /dev/null\n@@ -99999999999999999999 +0 @@\n-x\n```")
	f.Fuzz(func(t *testing.T, patch string) {
		files, bad := parse(patch)
		if (bad == nil) != (len(files) > 0) {
			t.Fatalf("parse(%q) = %v, %v", patch, files, bad)
		}
		for _, one := range files {
			if one.path == "" || one.kind == changing && len(one.hunks) == 0 && one.to == "" {
				t.Errorf("parse(%q) gives half a file: %+v", patch, one)
			}
		}
		_ = summary(files)
	})
}

// FuzzRewrite: what a hunk does not remove is kept byte for byte and in order, and what
// comes is what it adds.
func FuzzRewrite(f *testing.F) {
	f.Add("a\r\nb\nc", "*** Begin Patch\n*** Update File: f\n@@ a\n-b \n+x\n+y\n c\n@@\n+z\n*** End of File\n*** End Patch")
	f.Add("a\nb\n", "--- a/f\n+++ b/f\n@@ -1,0 +2 @@\n+x\n@@ -2 +3 @@\n-b\n")
	f.Fuzz(func(t *testing.T, content, patch string) {
		files, bad := parse(patch)
		if bad != nil {
			return
		}
		for _, one := range files {
			after, misfits := rewrite(content, one.hunks)
			if len(misfits) == 0 {
				kept(t, content, after, one.hunks)
			}
		}
	})
}

func kept(t *testing.T, content, after string, hunks []*hunk) {
	t.Helper()
	var gone, come []string
	for _, h := range hunks {
		for _, l := range h.lines {
			switch l.op {
			case '-':
				gone = append(gone, ending(l.text))
			case '+':
				come = append(come, l.text)
			}
		}
	}
	have := rows(strings.TrimPrefix(content, mark))
	left := rows(strings.TrimPrefix(after, mark))
	// Take from the new file what stayed, in order; what is left over must have come.
	next := 0
	for i, r := range left {
		at := -1
		for k := next; k < len(have); k++ {
			if have[k].text == r.text {
				at = k
				break
			}
			if !slices.Contains(gone, ending(have[k].text)) {
				break
			}
		}
		if at >= 0 {
			if have[at].end != r.end && have[at].end != "" && !slices.Contains(come, r.text) {
				t.Errorf("the end of line %d changed: %q became %q by %v", i, content, after, come)
			}
			next = at + 1
			continue
		}
		if !slices.Contains(come, r.text) {
			t.Errorf("line %d, %q, came from nowhere: %q became %q", i, r.text, content, after)
		}
	}
	for _, r := range have[next:] {
		if !slices.Contains(gone, ending(r.text)) && !slices.Contains(come, r.text) {
			t.Errorf("%q was lost: %q became %q", r.text, content, after)
		}
	}
	if want := len(have) - len(gone) + len(come); want != len(left) {
		t.Errorf("%d lines became %d, want %d: %q became %q", len(have), len(left), want, content, after)
	}
}
