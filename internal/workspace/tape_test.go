package workspace_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/cadre-dev/cadre/internal/workspace"
)

// What a tape answers is what was printed, without what is told missing, whatever the
// sizes of writes and gaps.
func TestTape(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 0))
		var tape workspace.Tape
		var all []byte // with zeros for what was skipped
		for range r.IntN(40) {
			piece := bytes.Repeat([]byte{byte(1 + r.IntN(255))}, r.IntN(300_000))
			_, _ = tape.Write(piece)
			all = append(all, piece...)
			if r.IntN(6) == 0 {
				n := r.IntN(100_000)
				tape.Skip(int64(n))
				all = append(all, make([]byte, n)...)
			}
		}
		for range 10 {
			from := int64(r.IntN(len(all) + 1))
			out := tape.Since(from)
			if out.Next != int64(len(all)) || tape.Total() != out.Next || int64(len(out.Text))+out.Lost != out.Next-from {
				t.Fatalf("seed %d: of %d bytes from %d on: %d, %d lost, next %d", seed, len(all), from, len(out.Text), out.Lost, out.Next)
			}
			gap := int64(out.Gap)
			want := append(append([]byte{}, all[from:from+gap]...), all[from+gap+out.Lost:]...)
			if !bytes.Equal(out.Text, want) {
				t.Fatalf("seed %d: from %d on another text is kept", seed, from)
			}
		}
	}
}

// What a tape was told to skip is told missing also where nothing came behind it.
func TestTapeSkips(t *testing.T) {
	t.Parallel()
	var tape workspace.Tape
	_, _ = tape.Write([]byte("begin"))
	tape.Skip(10)
	tape.Skip(0)
	if out := tape.Since(0); string(out.Text) != "begin" || out.Gap != 5 || out.Lost != 10 || out.Next != 15 {
		t.Errorf("it keeps %+v", out)
	}
	_, _ = tape.Write([]byte("end"))
	if out := tape.Unread("a"); string(out.Text) != "beginend" || out.Gap != 5 || out.Lost != 10 || out.Next != 18 {
		t.Errorf("it keeps %+v", out)
	}
	if out := tape.Unread("b"); len(out.Text) != 0 || out.Lost != 0 {
		t.Errorf("the reader behind gets %+v", out)
	}
}

// Who waits for more is told by the next write or gap, and at once when it is there.
func TestTapeTellsMore(t *testing.T) {
	t.Parallel()
	var tape workspace.Tape
	told := func(c <-chan struct{}) bool {
		select {
		case <-c:
			return true
		default:
			return false
		}
	}
	more := tape.More(0)
	if told(more) {
		t.Error("nothing is told to be more")
	}
	_, _ = tape.Write(nil)
	if told(more) {
		t.Error("an empty write is told to be more")
	}
	_, _ = tape.Write([]byte("x"))
	if !told(more) || !told(tape.More(0)) || told(tape.More(1)) {
		t.Error("a write is not told as it is")
	}
	more = tape.More(1)
	tape.Skip(1)
	if !told(more) {
		t.Error("a gap is not told")
	}
}
