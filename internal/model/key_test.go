package model_test

import (
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/model"
)

func TestKey(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"": "", " \n": "", "sk-1": "sk-1", " sk-1\r\n": "sk-1", "two words": "two words", "schlüssel": "schlüssel",
		"secret\nsecret": "!", "secret\rx": "!", "secret\x00": "!", "secret\x7f": "!", "secret\tx": "!", "sec\u200bret": "!", "secret\u00a0x": "!", "secret\xff": "!",
	} {
		got, err := model.Key(func(name string) string { return map[string]string{"ACME_API_KEY": value}[name] }, "ACME_API_KEY")
		if want != "!" {
			if got != want || err != nil {
				t.Errorf("%q is the key %q, %v, want %q", value, got, err, want)
			}
			continue
		}
		f := fault.From(err)
		if got != "" || f == nil || f.Code != fault.FailedPrecondition || f.Reason != "MODEL_KEY_INVALID" || !strings.Contains(f.Message, "ACME_API_KEY") || strings.Contains(err.Error(), "sec") {
			t.Errorf("%q is the key %q, %v", value, got, err)
		}
	}
}
