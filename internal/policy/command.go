package policy

import (
	"path"
	"strings"
	"unicode"
)

// blanks are what the shell ignores around a command; Unicode has more, the shell
// does not.
const blanks = " \t\n"

// commandIs is the narrow reading. A pattern without a star allows exactly its
// text, whatever that is: a person has seen all of it. A pattern with a star allows
// only commands of plain words, because anything else can smuggle a second command
// into the part that the star stands for.
func commandIs(command, pattern string) bool {
	command = strings.Trim(command, blanks)
	literal, open := splitPattern(pattern)
	if !open {
		return command == literal
	}
	if !plain(command) {
		return false
	}
	if words, ok := strings.CutSuffix(literal, ":"); ok {
		rest, ok := strings.CutPrefix(command, words)
		return ok && (rest == "" || rest[0] == ' ')
	}
	rest, ok := strings.CutPrefix(command, literal)
	if !ok || literal == "" || strings.HasSuffix(literal, " ") {
		return ok
	}
	return !strings.Contains(rest, " ") && !strings.Contains(rest, "..") // the star ends one word
}

// plain reports whether a command is one line of words that the shell changes in no
// way but removing quotes. It lists what is allowed, not what is dangerous.
func plain(command string) bool {
	var quote rune
	for _, c := range command {
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			} else if !unicode.IsPrint(c) || quote == '"' && strings.ContainsRune("$`\\!", c) {
				return false
			}
		case c == '\'' || c == '"':
			quote = c
		case c > unicode.MaxASCII || !unicode.IsLetter(c) && !unicode.IsDigit(c) && !strings.ContainsRune(" _-./,:@%+=", c):
			return false
		}
	}
	return quote == 0
}

// commandContains is the wide reading: the words of the pattern anywhere in the
// command, through quotes, escapes, wrappers, substitutions and chains.
func commandContains(command, pattern string) bool {
	literal, open := splitPattern(pattern)
	wanted := shellWords(strings.TrimSuffix(literal, ":"))
	if len(wanted) == 0 {
		return open
	}
	whole := !open || strings.HasSuffix(literal, ":") || strings.HasSuffix(literal, " ")
	words := shellWords(command)
	for i := range words {
		if wordsMatch(words[i:], wanted, open, whole) {
			return true
		}
	}
	return false
}

// wordsMatch compares from the first word. Options, with what belongs to them, may
// stand between two wanted words (git -C dir push). Whole: the last wanted word must
// match wholly; open: more may follow.
func wordsMatch(words, wanted []string, open, whole bool) bool {
	at := 0
	for i, want := range wanted {
		if i > 0 && at < len(words) && strings.HasPrefix(words[at], "-") && !strings.HasPrefix(want, "-") {
			for at < len(words) && words[at] != "" && words[at] != want {
				at++
			}
		}
		if at == len(words) {
			return false
		}
		got := words[at]
		if i == 0 && !strings.Contains(want, "/") {
			got = path.Base(got)
		}
		if got != want && (whole || i < len(wanted)-1 || !strings.HasPrefix(got, want)) {
			return false
		}
		at++
	}
	return open || at == len(words) || words[at] == ""
}

// shellWords are the words of a command without their quotes and without case; ""
// stands where one command ends and another may begin.
func shellWords(command string) []string {
	var words []string
	var word strings.Builder
	end := func() {
		if word.Len() > 0 {
			words = append(words, strings.ToLower(word.String()))
			word.Reset()
		}
	}
	command = strings.ReplaceAll(command, "\\\n", "")
	for _, c := range command {
		switch {
		case c == '\'' || c == '"' || c == '\\' || c == '$':
		case strings.ContainsRune(";&|()<>`\n\r{}", c):
			if s := word.String(); (c == '<' || c == '>') && strings.Trim(s, "0123456789") == "" {
				word.Reset() // the number of a redirection
			}
			end()
			if len(words) > 0 && words[len(words)-1] != "" {
				words = append(words, "")
			}
		case unicode.IsSpace(c) || c == ',' || c == '=':
			end()
		default:
			word.WriteRune(c)
		}
	}
	end()
	return words
}

// computed reports whether a command has parts that are known only when it runs:
// expansions, substitutions, or a pattern where a program's name stands.
func computed(command string) bool {
	if strings.ContainsAny(command, "$`") {
		return true
	}
	first := true
	for _, word := range shellWords(command) {
		if first && strings.ContainsAny(word, "*?[") {
			return true
		}
		first = word == ""
	}
	return false
}
