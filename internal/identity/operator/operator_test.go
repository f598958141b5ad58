package operator_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/config"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/identity"
	"github.com/cadre-dev/cadre/internal/identity/operator"
)

func TestTheTokenIsMadeOnceForItsOwnerAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for range 2 {
		if _, err := operator.Open(dir); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(filepath.Join(dir, config.TokenFile))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the token's file is %v, %v; want mode 600", info, err)
	}
}

func TestOnlyTheTokenNamesTheOperator(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	v, err := operator.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	token, err := config.ReadToken(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := []identity.Verifier{v}
	if c, err := identity.Verify(t.Context(), all, token); err != nil || c.ID != operator.ID || c.Class != identity.User {
		t.Errorf("the token gave %+v, %v", c, err)
	}
	for what, bad := range map[string][2]string{
		"none":        {"", "NO_TOKEN"},
		"another":     {token[:len(token)-1] + "!", "TOKEN_REFUSED"},
		"the prefix":  {config.TokenPrefix, "TOKEN_REFUSED"},
		"other kinds": {"cdr_k_abc", "TOKEN_UNKNOWN"},
	} {
		_, err := identity.Verify(t.Context(), all, bad[0])
		if fault.CodeOf(err) != fault.Unauthenticated || fault.ReasonOf(err) != bad[1] {
			t.Errorf("%s: got %v, want %s", what, err, bad[1])
		}
		if err != nil && bad[0] != "" && strings.Contains(err.Error(), bad[0]) && len(bad[0]) > len(config.TokenPrefix) {
			t.Errorf("%s: the error repeats the token: %v", what, err)
		}
	}
}

func TestADamagedTokenFileStopsTheStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, config.TokenFile), []byte("garbage"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := operator.Open(dir); fault.ReasonOf(err) != "OPERATOR_TOKEN_UNREADABLE" {
		t.Fatalf("got %v", err)
	}
}
