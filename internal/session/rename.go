package session

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
)

// maxNewTitle bounds a title that a person gives, in runes: two lines of a screen. The
// rest would not be shown anywhere.
const maxNewTitle = 160

// CleanTitle is a title as it is stored: one line, without what a terminal would obey.
// An error says why there is none.
func CleanTitle(title string) (string, error) {
	title = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) && r != '\u200d' || r == '\ufffd' {
			return ' '
		}
		return r
	}, title)
	title = strings.Join(strings.Fields(title), " ")
	if title == "" {
		return "", errors.New("a title needs at least one visible character")
	}
	if n := len([]rune(title)); n > maxNewTitle {
		return "", fmt.Errorf("the title has %d characters: at most %d are kept", n, maxNewTitle)
	}
	return title, nil
}

// Rename gives a stored session a title. Like every writer it opens the session for
// that, which closes a turn that a crash left open. It returns the title as stored.
//
// Errors: those of Open, *OutsideError.
func Rename(root, path, title string) (string, error) {
	title, err := CleanTitle(title)
	if err != nil {
		return "", err
	}
	if _, ok := inStore(root, path); !ok {
		return "", &OutsideError{Path: path}
	}
	l, _, err := Open(root, path)
	if err != nil {
		return "", err
	}
	_, err = l.Append(Draft{Data: Title{Title: title}})
	return title, errors.Join(err, l.Close())
}
