// Package artifacttest is the suite that every artifact driver passes.
package artifacttest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/cadre-dev/cadre/internal/artifact"
)

// Driver is what the suite needs of a driver.
type Driver struct {
	// Open opens a store over dir, an empty folder that stays the same when a store
	// is opened again. The suite closes it.
	Open func(t *testing.T, dir string) artifact.Store
	// Damage changes the kept bytes of one artifact. nil skips the test that needs it.
	Damage func(t *testing.T, dir, sha256 string)
}

// Run checks a driver.
func Run(t *testing.T, d Driver) {
	t.Helper()
	for _, c := range []struct {
		name string
		run  func(*testing.T, fixture)
	}{
		{"PutAndOpen", testPutAndOpen},
		{"Large", testLarge},
		{"Unknown", testUnknown},
		{"Again", testAgain},
		{"Reopened", testReopened},
		{"Concurrent", testConcurrent},
		{"GiverFails", testGiverFails},
		{"ContextEnds", testContextEnds},
		{"Damaged", testDamaged},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := fixture{Driver: d, dir: t.TempDir()}
			f.store = d.Open(t, f.dir)
			c.run(t, f)
			if err := f.store.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
		})
	}
}

type fixture struct {
	Driver
	dir   string
	store artifact.Store
}

// put keeps data and checks what the store says of it.
func (f fixture) put(t *testing.T, data []byte) string {
	t.Helper()
	got, err := f.store.Put(t.Context(), iotest.OneByteReader(bytes.NewReader(data[:min(len(data), 100)])))
	if len(data) > 100 {
		got, err = f.store.Put(t.Context(), bytes.NewReader(data))
	}
	sum := sha256.Sum256(data)
	if want := (artifact.Stored{SHA256: hex.EncodeToString(sum[:]), Size: int64(len(data))}); err != nil || got != want {
		t.Fatalf("Put = %+v, %v, want %+v", got, err, want)
	}
	return got.SHA256
}

// get reads an artifact to its end.
func (f fixture) get(t *testing.T, sum string) ([]byte, error) {
	t.Helper()
	r, err := f.store.Open(t.Context(), sum)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(r)
	if e := r.Close(); e != nil {
		t.Errorf("closing the reader: %v", e)
	}
	return data, err
}

func (f fixture) holds(t *testing.T, sum string, want []byte) {
	t.Helper()
	if got, err := f.get(t, sum); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s reads as %d bytes, %v, want the %d that were put", sum, len(got), err, len(want))
	}
}

func testPutAndOpen(t *testing.T, f fixture) {
	for _, text := range []string{"", "hello", "\x00\xff", "hello\n"} {
		f.holds(t, f.put(t, []byte(text)), []byte(text))
	}
}

func testLarge(t *testing.T, f fixture) {
	data := bytes.Repeat([]byte("0123456789abcdef"), 400_000)
	f.holds(t, f.put(t, data), data)
}

func testUnknown(t *testing.T, f fixture) {
	known := f.put(t, []byte("x"))
	for _, sum := range []string{
		"", "ab", strings.Repeat("0", 64), strings.ToUpper(known), known + "0", known[:63], known[:62] + "/.",
		"../../" + known, strings.Repeat("../", 22)[:64], "\x00" + known[1:],
	} {
		if _, err := f.get(t, sum); !errors.Is(err, artifact.ErrNotFound) {
			t.Errorf("Open(%q): %v, want ErrNotFound", sum, err)
		}
	}
}

func testAgain(t *testing.T, f fixture) {
	if one, two := f.put(t, []byte("same")), f.put(t, []byte("same")); one != two {
		t.Errorf("the same bytes are %s and %s", one, two)
	} else {
		f.holds(t, one, []byte("same"))
	}
}

func testReopened(t *testing.T, f fixture) {
	sum := f.put(t, []byte("kept"))
	again := fixture{Driver: f.Driver, dir: f.dir, store: f.Open(t, f.dir)}
	again.holds(t, sum, []byte("kept"))
	if err := again.store.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	f.holds(t, sum, []byte("kept"))
}

func testConcurrent(t *testing.T, f fixture) {
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			data := bytes.Repeat([]byte{byte('a' + i%4)}, 50_000)
			got, err := f.store.Put(t.Context(), bytes.NewReader(data))
			if err != nil {
				t.Errorf("Put beside others: %v", err)
				return
			}
			f.holds(t, got.SHA256, data)
		})
	}
	all.Wait()
}

func testGiverFails(t *testing.T, f fixture) {
	broken := errors.New("the giver broke")
	r := io.MultiReader(strings.NewReader("half"), iotest.ErrReader(broken))
	if got, err := f.store.Put(t.Context(), r); !errors.Is(err, broken) {
		t.Errorf("Put = %+v, %v, want the giver's error", got, err)
	}
	sum := sha256.Sum256([]byte("half"))
	if _, err := f.get(t, hex.EncodeToString(sum[:])); !errors.Is(err, artifact.ErrNotFound) {
		t.Errorf("half an artifact was kept: %v", err)
	}
}

func testContextEnds(t *testing.T, f fixture) {
	cause := errors.New("the test ends it")
	ctx, cancel := context.WithCancelCause(t.Context())
	endless := readerFunc(func(b []byte) (int, error) {
		cancel(cause)
		return len(b), nil
	})
	if got, err := f.store.Put(ctx, endless); !errors.Is(err, cause) {
		t.Errorf("Put = %+v, %v, want the context's cause", got, err)
	}
	if _, err := f.store.Open(ctx, strings.Repeat("0", 64)); !errors.Is(err, cause) {
		t.Errorf("Open: %v, want the context's cause", err)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }

func testDamaged(t *testing.T, f fixture) {
	if f.Damage == nil {
		t.Skip("the driver's bytes cannot be damaged from here")
	}
	data := bytes.Repeat([]byte("good"), 50_000)
	sum := f.put(t, data)
	f.Damage(t, f.dir, sum)
	if _, err := f.get(t, sum); !errors.Is(err, artifact.ErrCorrupt) {
		t.Errorf("damaged bytes: %v, want ErrCorrupt", err)
	}
	f.put(t, data)
	f.holds(t, sum, data)
}
