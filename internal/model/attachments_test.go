package model_test

import (
	"testing"

	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	"github.com/cadre-dev/cadre/internal/model"
)

func TestShow(t *testing.T) {
	t.Parallel()
	req := model.Request{Files: map[string][]byte{"p": []byte("\xfb\xff"), "g": []byte("GIF"), "x": []byte("x"), "e": {}}}
	file := func(id, name, kind string) *messagev1.Attachment {
		return &messagev1.Attachment{ArtifactId: id, Name: name, MediaType: kind, Size: 7}
	}
	cannot := func(what string) string { return "[the file " + what + ", 7 bytes) cannot be shown to this model]" }
	for name, c := range map[string]struct {
		text   string
		beside []*messagev1.Attachment
		except []string
		want   string
		images string
	}{
		"nothing":       {"a\n", nil, nil, "a\n", ""},
		"an image":      {"a", []*messagev1.Attachment{file("p", "p.png", "image/png")}, nil, "a", "p.png data:image/png;base64,+/8= "},
		"in order":      {"", []*messagev1.Attachment{file("g", "g", "image/gif"), file("p", "p", "image/webp")}, nil, "", "g data:image/gif;base64,R0lG p data:image/webp;base64,+/8= "},
		"no bytes":      {"a", []*messagev1.Attachment{file("zzz", "z.png", "image/png")}, nil, "a\n" + cannot("z.png (image/png"), ""},
		"empty":         {"a", []*messagev1.Attachment{file("e", "e.png", "image/png")}, nil, "a\n" + cannot("e.png (image/png"), ""},
		"another type":  {" ", []*messagev1.Attachment{file("x", "x.bmp", "image/bmp"), file("x", "y", "")}, nil, cannot("x.bmp (image/bmp") + "\n" + cannot("y ("), ""},
		"not this type": {"a", []*messagev1.Attachment{file("g", "g", "image/gif"), file("p", "p", "image/png")}, []string{"image/gif"}, "a\n" + cannot("g (image/gif"), "p data:image/png;base64,+/8= "},
	} {
		text, images := req.Show(c.text, c.beside, c.except...)
		got := ""
		for _, i := range images {
			got += i.Name + " " + i.DataURL() + " "
		}
		if text != c.want || got != c.images {
			t.Errorf("%s: %q and %q, want %q and %q", name, text, got, c.want, c.images)
		}
	}
}
