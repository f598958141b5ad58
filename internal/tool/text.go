package tool

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// LargestFile is the size, in bytes, up to which tools read a file.
const LargestFile = 16 << 20

// binaryHead is how much of a file is looked at for the signs of a binary one.
const binaryHead = 8192

// IsBinary tells whether data is no text: it holds a zero byte near its start.
func IsBinary(data []byte) bool {
	return bytes.IndexByte(data[:min(len(data), binaryHead)], 0) >= 0
}

// Lines splits text at line ends, which it drops (`\n` and `\r\n`). A last line
// end begins no further line; "" has no line.
func Lines(text string) []string {
	if text == "" {
		return nil
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimSuffix(l, "\r")
	}
	return lines
}

// Shorten cuts a line to at most runes characters and says how long it was.
// Bytes that are no UTF-8 become U+FFFD.
func Shorten(line string, runes int) string {
	line = strings.ToValidUTF8(line, "\ufffd")
	if len(line) <= runes {
		return line
	}
	total := utf8.RuneCountInString(line)
	if total <= runes {
		return line
	}
	at, n := 0, 0
	for at = range line {
		if n == runes {
			break
		}
		n++
	}
	return fmt.Sprintf("%s… [the line has %d characters]", line[:at], total)
}
