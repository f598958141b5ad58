package workspace

import (
	"path"
	"strings"
)

// Rel gives the clean relative form, `.` for the folder itself, of a path that
// was named by a person or a model: relative, or absolute inside root, the
// folder's absolute path. It looks at the words only, never at the disk.
// ErrOutside when the path leaves root, ErrBadPath when no file can have it.
func Rel(root, name string) (string, error) {
	if strings.ContainsRune(name, 0) {
		return "", ErrBadPath.Saying("the path %q holds a zero byte, which no file's name can", name)
	}
	rel := name
	if path.IsAbs(name) {
		inside, ok := strings.CutPrefix(path.Clean(name)+"/", strings.TrimSuffix(root, "/")+"/")
		if !ok {
			return "", Outside(root, name)
		}
		rel = strings.Trim(inside, "/")
	}
	rel = path.Clean(rel)
	if rel == ".." || strings.HasPrefix(rel, "../") {
		return "", Outside(root, name)
	}
	return rel, nil
}

// Outside is ErrOutside that names the path and the folder.
func Outside(root, name string) error {
	return ErrOutside.Saying("the path %q leaves the workspace %s: use a path inside it, relative to it", name, root).
		With("path", name)
}
