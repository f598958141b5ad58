package tool

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	_ "image/gif"  // its sizes
	_ "image/jpeg" // its sizes
	_ "image/png"  // its sizes
)

// LargestImage is the size, in bytes, up to which tools give an image to the model.
const LargestImage = 5 << 20

// Image is what the head of an image says.
type Image struct {
	MediaType     string // one of ImageTypes
	Width, Height int    // in pixels
}

// ImageOf looks at the content, whatever its name says; false when it is none of
// ImageTypes. That the rest of it can be shown is not promised.
func ImageOf(data []byte) (Image, bool) {
	if i, ok := webp(data); ok {
		return i, true
	}
	c, format, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil || c.Width == 0 || c.Height == 0 {
		return Image{}, false
	}
	return Image{MediaType: "image/" + format, Width: c.Width, Height: c.Height}, true
}

// Describe writes an image's kind and size for the model and for people.
func (i Image) Describe(bytes int) string {
	return fmt.Sprintf("%s, %d × %d pixels, %s", i.MediaType, i.Width, i.Height, Count(bytes, "byte", "bytes"))
}

// webp reads the three heads that a WebP file can have.
func webp(data []byte) (Image, bool) {
	if len(data) < 30 || string(data[:4]) != "RIFF" || string(data[8:12]) != "WEBP" {
		return Image{}, false
	}
	i := Image{MediaType: "image/webp"}
	body := data[20:]
	switch string(data[12:16]) {
	case "VP8 ":
		if !bytes.Equal(body[3:6], []byte{0x9d, 0x01, 0x2a}) {
			return Image{}, false
		}
		i.Width = int(binary.LittleEndian.Uint16(body[6:]) & 0x3fff)
		i.Height = int(binary.LittleEndian.Uint16(body[8:]) & 0x3fff)
	case "VP8L":
		if body[0] != 0x2f {
			return Image{}, false
		}
		bits := binary.LittleEndian.Uint32(body[1:])
		i.Width, i.Height = int(bits&0x3fff)+1, int(bits>>14&0x3fff)+1
	case "VP8X":
		i.Width = int(binary.LittleEndian.Uint32(body[4:])&0xffffff) + 1
		i.Height = int(binary.LittleEndian.Uint32(body[6:])>>8) + 1
	default:
		return Image{}, false
	}
	return i, i.Width > 0 && i.Height > 0
}
