package chat

import (
	"strings"
	"testing"
)

func TestCellsAreWhatPeopleTakeForCharacters(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]int{
		"":           0,
		"abc":        3,
		"e\u0301a":   2, // a letter with its mark
		"👍🏽!":        2, // a skin tone
		"👩‍💻x":       2, // joined
		"🇩🇪🇫🇷":       2, // flags
		"日本":         2,
		"❤️":         1, // a variation
		"a\n\u0301b": 4, // a mark joins no line end
	} {
		if got := cells(in); len(got) != want || strings.Join(got, "") != in {
			t.Errorf("%q: %q", in, got)
		}
	}
}

func TestWritingAndMoving(t *testing.T) {
	t.Parallel()
	b := box{}.insert("one two").insert("\n").insert("three")
	if b.text() != "one two\nthree" || b.at != 13 {
		t.Fatalf("%q at %d", b.text(), b.at)
	}
	if at := b.lineStart(); at != 8 {
		t.Errorf("line start %d", at)
	}
	b = b.moved(b.lineStart() - 1)
	if b = b.cut(b.wordLeft(), b.at); b.text() != "one \nthree" {
		t.Errorf("%q", b.text())
	}
	if b = b.cut(b.lineStart(), b.at); b.text() != "\nthree" || b.at != 0 {
		t.Errorf("%q at %d", b.text(), b.at)
	}
	if at := b.moved(1).wordRight(); at != 6 {
		t.Errorf("word right %d", at)
	}
	if b := (box{}).insert("e").insert("\u0301"); len(b.cells) != 1 {
		t.Errorf("%q", b.cells)
	}
	if b := (box{}).insert("a\x1b[2Jb\u202ec\td"); b.text() != "a[2Jbc  d" {
		t.Errorf("%q", b.text())
	}
}

func TestRowsAndTheCursor(t *testing.T) {
	t.Parallel()
	cases := []struct {
		text string
		rows string // separated by |
		y, x int
	}{
		{"", "", 0, 0},
		{"abc", "abc", 0, 3},
		{"hello world", "hello |world", 1, 5},
		{"abcdefghijkl", "abcdefgh|ijkl", 1, 4},
		{"abcdefgh", "abcdefgh|", 1, 0},
		{"a\n\nb", "a||b", 2, 1},
		{"日本語日本", "日本語日|本", 1, 2},
	}
	for _, c := range cases {
		b := filled(c.text)
		rows := b.rows(8)
		var got []string
		for _, r := range rows {
			got = append(got, strings.Join(b.cells[r.from:r.to], ""))
		}
		y, x := b.cursor(rows)
		if strings.Join(got, "|") != c.rows || y != c.y || x != c.x {
			t.Errorf("%q: rows %q, cursor %d,%d", c.text, got, y, x)
		}
	}
}

func TestUpAndDownKeepTheColumn(t *testing.T) {
	t.Parallel()
	b := filled("first line\nab\nlast line")
	b, ok := b.vertical(20, -1)
	if !ok || b.at != len("first line\nab") {
		t.Fatalf("at %d", b.at)
	}
	if b, ok = b.vertical(20, -1); !ok || b.at != 2 {
		t.Fatalf("at %d", b.at)
	}
	if _, ok = b.vertical(20, -1); ok {
		t.Error("there is a row above the first")
	}
	if _, ok = filled("x").vertical(20, 1); ok {
		t.Error("there is a row below the last")
	}
	long := filled("abcdefghijkl").moved(12)
	if up, ok := long.vertical(8, -1); !ok || up.at != 4 {
		t.Errorf("at %d", up.at)
	}
}

func FuzzBox(f *testing.F) {
	f.Add("hello world\n日本 👩‍💻", uint8(7), uint8(3))
	f.Fuzz(func(t *testing.T, text string, width, at uint8) {
		b := filled(text).moved(int(at))
		rows := b.rows(int(width))
		y, _ := b.cursor(rows)
		if y < 0 || y >= len(rows) {
			t.Fatalf("cursor in row %d of %d", y, len(rows))
		}
		next := 0
		for _, r := range rows {
			if r.from != next && r.from != next+1 || r.to < r.from {
				t.Fatalf("rows %v", rows)
			}
			next = r.to
		}
		if next != len(b.cells) {
			t.Fatalf("rows %v of %d cells", rows, len(b.cells))
		}
		for _, by := range []int{-1, 1} {
			if moved, ok := b.vertical(int(width), by); ok && (moved.at < 0 || moved.at > len(b.cells)) {
				t.Fatalf("at %d", moved.at)
			}
		}
	})
}
