// Package handsbin finds the program that works inside sandboxes, cadre-hands. A cadre that
// was made with `make build` holds it, for each processor that Linux sandboxes run on; any
// other looks for it in CADRE_HANDS, and then beside itself.
//
// Promise: the file that it answers is whole, can be run by anybody, and stays what it is: a
// newer release writes another one.
package handsbin

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/cadre-dev/cadre/internal/fault"
)

// EnvHands names the program's file, for a cadre that does not hold it.
const EnvHands = "CADRE_HANDS"

// Name is the program's, and the beginning of the embedded files' names.
const Name = "cadre-hands"

// built holds the programs, and always a note of what belongs there: a folder of nothing
// cannot be embedded.
//
//go:embed built
var built embed.FS

// ErrMissing: there is no such program here.
var ErrMissing = fault.New(fault.FailedPrecondition, "HANDS_MISSING", "this cadre was built without cadre-hands, the program for sandboxes")

// Programs are the files. Safe for concurrent use. Make it with New.
type Programs struct {
	dir string
	env func(name string) string

	mu    sync.Mutex
	files map[string]string // by processor
}

// New writes embedded programs below dir, which it makes when it needs it.
func New(dir string, env func(name string) string) *Programs {
	return &Programs{dir: dir, env: env, files: map[string]string{}}
}

// File is the program for a processor as Go names it ("amd64"), absolute. ErrMissing says
// how to build it.
func (p *Programs) File(arch string) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if file := p.files[arch]; file != "" {
		if _, err := os.Stat(file); err == nil {
			return file, nil
		}
	}
	file, err := p.find(arch)
	if err != nil {
		return "", err
	}
	p.files[arch] = file
	return file, nil
}

func (p *Programs) find(arch string) (string, error) {
	if file := p.env(EnvHands); file != "" {
		file, err := filepath.Abs(file)
		if err == nil {
			err = runnable(file)
		}
		if err != nil {
			return "", ErrMissing.Saying("%s=%s is no program that can be run: %s", EnvHands, p.env(EnvHands), short(err))
		}
		return file, nil
	}
	data, err := built.ReadFile("built/" + embedded(arch))
	if err == nil {
		return p.write(data)
	}
	if self, err := os.Executable(); err == nil && arch == runtime.GOARCH && runtime.GOOS == "linux" {
		if file := filepath.Join(filepath.Dir(self), Name); runnable(file) == nil {
			return file, nil
		}
	}
	return "", ErrMissing.Saying("this cadre was built without %s for linux/%s, the program for sandboxes: build cadre with `make build`, or build ./cmd/cadre-hands "+
		"with CGO_ENABLED=0 GOOS=linux GOARCH=%s and name its file in %s", Name, arch, arch, EnvHands)
}

// embedded is the file's name below built.
func embedded(arch string) string { return Name + "-linux-" + arch }

func runnable(file string) error {
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0:
		return errors.New("it is no file that can be executed")
	}
	return nil
}

// short is an error without the path that the message has already.
func short(err error) string {
	var at *os.PathError
	if errors.As(err, &at) {
		return at.Err.Error()
	}
	return err.Error()
}

// write puts a program into the folder, once, under a name of its content.
func (p *Programs) write(data []byte) (string, error) {
	sum := sha256.Sum256(data)
	file := filepath.Join(p.dir, Name+"-"+hex.EncodeToString(sum[:8]))
	file, err := filepath.Abs(file)
	if err != nil {
		return "", err
	}
	if known, err := os.ReadFile(file); err == nil && sha256.Sum256(known) == sum { //nolint:gosec // a file of the data folder
		return file, os.Chmod(file, 0o755) //nolint:gosec // a program that the users of sandboxes run
	}
	if err := os.MkdirAll(p.dir, 0o755); err != nil { //nolint:gosec // programs are no secret
		return "", fmt.Errorf("the program for sandboxes cannot be written: %w", err)
	}
	if err := replace(file, data); err != nil {
		return "", fmt.Errorf("the program for sandboxes cannot be written: %w", err)
	}
	return file, nil
}

// replace writes a file whole: a program that runs already keeps the one that it has.
func replace(file string, data []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(file), "."+Name+"-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(0o755), f.Sync(), f.Close())
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), file)
}
