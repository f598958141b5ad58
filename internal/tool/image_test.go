package tool_test

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"slices"
	"testing"

	"github.com/cadre-dev/cadre/internal/tool"
)

// webp is the head of a WebP file with one chunk.
func webp(chunk string, body ...byte) []byte {
	b := append([]byte("RIFF\x00\x00\x00\x00WEBP"), chunk...)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(body)))
	return append(append(b, body...), make([]byte, 16)...)
}

func TestImageOf(t *testing.T) {
	t.Parallel()
	var asPNG, asJPEG, asGIF bytes.Buffer
	picture := image.NewPaletted(image.Rect(0, 0, 300, 200), color.Palette{color.Black, color.White})
	if png.Encode(&asPNG, picture) != nil || jpeg.Encode(&asJPEG, picture, nil) != nil || gif.Encode(&asGIF, picture, nil) != nil {
		t.Fatal("the test's images cannot be made")
	}
	lossless := binary.LittleEndian.AppendUint32([]byte{0x2f}, 299|199<<14)
	for name, data := range map[string][]byte{
		"image/png": asPNG.Bytes(), "image/jpeg": asJPEG.Bytes(), "image/gif": asGIF.Bytes(),
		"image/webp lossy":    webp("VP8 ", 0, 0, 0, 0x9d, 0x01, 0x2a, 0x2c, 0x41, 0xc8, 0x80),
		"image/webp lossless": webp("VP8L", lossless...),
		"image/webp extended": webp("VP8X", 0, 0, 0, 0, 0x2b, 1, 0, 0xc7, 0, 0),
	} {
		i, ok := tool.ImageOf(data)
		if !ok || i.Width != 300 || i.Height != 200 || i.MediaType != name[:len(i.MediaType)] || !slices.Contains(tool.ImageTypes, i.MediaType) {
			t.Errorf("ImageOf a %s = %+v, %v", name, i, ok)
		}
		if !tool.IsBinary(data) {
			t.Errorf("a %s is taken for text", name)
		}
	}
	for _, none := range [][]byte{nil, []byte("GIF"), []byte("text"), webp("VP9 "), webp("VP8 ", 1, 2, 3), webp("VP8L", 1), asPNG.Bytes()[:20]} {
		if i, ok := tool.ImageOf(none); ok {
			t.Errorf("ImageOf(%.20q) = %+v", none, i)
		}
	}
}

func FuzzImageOf(f *testing.F) {
	f.Add(webp("VP8X"))
	f.Add([]byte("\x89PNG\r\n\x1a\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if i, ok := tool.ImageOf(data); ok && (i.Width < 1 || i.Height < 1 || !slices.Contains(tool.ImageTypes, i.MediaType)) {
			t.Errorf("ImageOf = %+v", i)
		}
	})
}
