package termtext

import "strings"

// Home is a path with the user's own folder by its short name, "~". home "" shortens
// nothing.
func Home(path, home string) string {
	rest, ok := strings.CutPrefix(path, home)
	if home == "" || !ok || rest != "" && rest[0] != '/' {
		return path
	}
	return "~" + rest
}
